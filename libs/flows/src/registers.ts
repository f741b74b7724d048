import { type Action, type FieldName, type Match, type SubField } from "@antrea/openflow";

/** Parts of the registers that carry what one table found out to a later one. */
export const Reg = {
    /** Who sent the packet: a value of `Source`. */
    source: { field: "reg0", offset: 0, bits: 4 },
    /** What the table Output does: a value of `OutputKind`. */
    outputKind: { field: "reg0", offset: 21, bits: 2 },
    /** The port that the table Output sends to. */
    outputPort: { field: "reg1", offset: 0, bits: 32 },
    /** The address that an ARP question asks for, while the answer is written over it. */
    askedFor: { field: "reg2", offset: 0, bits: 32 },
    /** A bridged Pod sent it. */
    bridged: { field: "reg4", offset: 20, bits: 1 },
    /** A bridged Pod sent it to a Service: it leaves with a virtual source address. */
    toService: { field: "reg4", offset: 21, bits: 1 },
    /** The VLAN that the frame belongs to, 0 the untagged one. */
    vlan: { field: "reg8", offset: 0, bits: 12 },
    /** The upper part of the conntrack zone of that VLAN. */
    zoneType: { field: "reg8", offset: 12, bits: 4 },
    /** On the underlay the frame carries a tag. */
    tagged: { field: "reg8", offset: 16, bits: 1 },
    /** The priority in the tag that the frame came with: IEEE 802.1Q. */
    tagPriority: { field: "reg8", offset: 17, bits: 3 },
} as const satisfies Readonly<Record<string, SubField>>;

/** `Reg.vlan` and `Reg.zoneType` in one: the conntrack zone in bridging mode. */
export const vlanZone = { field: "reg8", offset: 0, bits: 16 } as const satisfies SubField;

/** Parts of the connection mark. Bits 4 to 7 are kept free for Services, SNAT, hairpin and layer 7. */
export const CtMark = {
    /** Who began the connection: a value of `Source`. Never 0 once committed. */
    source: { field: "ct_mark", offset: 0, bits: 4 },
    /** Whatever Pods send of this connection passes the host's stack, even to a Pod beside them. */
    viaHost: { field: "ct_mark", offset: 8, bits: 1 },
    /** In the zone of Services: the VLAN of the bridged Pod that began the connection. */
    vlan: { field: "ct_mark", offset: 16, bits: 12 },
} as const satisfies Readonly<Record<string, SubField>>;

/** Values of `Reg.source` and `CtMark.source`. */
export const Source = { tunnel: 1, gateway: 2, pod: 3, uplink: 4, host: 5 } as const;
export type Source = (typeof Source)[keyof typeof Source];

/** Values of `Reg.outputKind`. */
export const OutputKind = { none: 0, port: 1, controller: 2 } as const;

/** The action that writes a part of a field and leaves its other bits. */
export function load(part: SubField, value: number): Action {
    const mask = maskOf(part);
    const shifted = BigInt(value) << BigInt(part.offset);
    return { type: "set_field", field: part.field, value: Number(shifted), mask: Number(mask) };
}

/** The action that copies a part of a field to another. */
export function move(from: SubField, to: SubField): Action {
    return { type: "move", from, to };
}

/** The match of packets of either of two sources; their values differ in one bit. */
export function sourceIsEither(one: Source, other: Source): Match {
    const { field, offset } = Reg.source;
    const mask = 0xf & ~(one ^ other);
    return { [field]: { value: (one & mask) << offset, mask: mask << offset } };
}

/** The match of some parts of fields; parts of one field become one value and mask. */
export function partsAre(...parts: readonly (readonly [SubField, number])[]): Match {
    const fields = new Map<FieldName, { value: bigint; mask: bigint }>();
    for (const [part, wanted] of parts) {
        const { value, mask } = fields.get(part.field) ?? { value: 0n, mask: 0n };
        const shifted = BigInt(wanted) << BigInt(part.offset);
        fields.set(part.field, { value: value | shifted, mask: mask | maskOf(part) });
    }
    const numbers = [...fields].map(
        ([field, { value, mask }]) => [field, { value: Number(value), mask: Number(mask) }] as const,
    );
    return Object.fromEntries(numbers);
}

/** The match of what no bridged Pod sent. */
export const notBridged: Match = partsAre([Reg.bridged, 0]);

function maskOf(part: SubField): bigint {
    return ((1n << BigInt(part.bits)) - 1n) << BigInt(part.offset);
}
