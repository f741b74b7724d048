import { type Action, type FieldName, type Match, type SubField } from "@antrea/openflow";

/** Register fields that carry a result from one table to a later one; all are 0 when a packet enters the pipeline. */
export const Reg = {
    /** Source of the packet: a value of `Source`. */
    source: { field: "reg0", offset: 0, bits: 4 },
    /** Action of the table Output: a value of `OutputKind`. */
    outputKind: { field: "reg0", offset: 21, bits: 2 },
    /** Port to which the table Output sends. */
    outputPort: { field: "reg1", offset: 0, bits: 32 },
    /** Target address of an ARP request, while the answer is written over it. */
    askedFor: { field: "reg2", offset: 0, bits: 32 },
    /** The endpoint to which `EndpointDnat` is to translate: the id of its bucket. Only Services with affinity use it. */
    endpoint: { field: "reg3", offset: 0, bits: 32 },
    /** 1: `Reg.endpoint` is one of this Node only, as the policy of the Service demands. */
    localScope: { field: "reg4", offset: 16, bits: 1 },
    /** 1: the destination is an address of this Node that has the NodePorts of Services. */
    nodePort: { field: "reg4", offset: 19, bits: 1 },
    /** 1: a bridged Pod sent the packet. */
    bridged: { field: "reg4", offset: 20, bits: 1 },
    /** 1: a bridged Pod sent the packet to a Service; it leaves with a virtual source address. */
    toService: { field: "reg4", offset: 21, bits: 1 },
    /** 1: the client of a Service is this Node or one of its Pods. */
    inside: { field: "reg4", offset: 28, bits: 1 },
    /** Number of the port of a Service that the first packet of a connection addressed. */
    service: { field: "reg7", offset: 0, bits: 32 },
    /** Destination port of a datagram in fragments that begins a connection; of all datagrams for a Service with affinity. */
    port: { field: "reg9", offset: 0, bits: 16 },
    /** VLAN ID of the frame; 0 is untagged. */
    vlan: { field: "reg8", offset: 0, bits: 12 },
    /** Upper part of the conntrack zone of that VLAN. */
    zoneType: { field: "reg8", offset: 12, bits: 4 },
    /** 1: the frame carries a tag on the underlay. */
    tagged: { field: "reg8", offset: 16, bits: 1 },
    /** Priority from the tag of the frame (IEEE 802.1Q PCP). */
    tagPriority: { field: "reg8", offset: 17, bits: 3 },
} as const satisfies Readonly<Record<string, SubField>>;

/** `Reg.vlan` and `Reg.zoneType` as one field: the conntrack zone in bridging mode. */
export const vlanZone = { field: "reg8", offset: 0, bits: 16 } as const satisfies SubField;

/** Fields of the connection mark. Bits 5 to 7 are reserved for SNAT, hairpin and layer 7. */
export const CtMark = {
    /** Source of the connection's first packet: a value of `Source`. Not 0 once committed. */
    source: { field: "ct_mark", offset: 0, bits: 4 },
    /** 1: the switch translated the destination of the connection from a Service's to an endpoint. */
    service: { field: "ct_mark", offset: 4, bits: 1 },
    /** 1: all packets of Pods in this connection pass the host's stack, even to a Pod on this Node. */
    viaHost: { field: "ct_mark", offset: 8, bits: 1 },
    /** In the conntrack zone of Services: VLAN of the bridged Pod that began the connection. */
    vlan: { field: "ct_mark", offset: 16, bits: 12 },
} as const satisfies Readonly<Record<string, SubField>>;

/** The whole connection mark in the conntrack zone of ports (`fieldsOf`): the destination port. */
export const portMark = { field: "ct_mark", offset: 0, bits: 16 } as const satisfies SubField;

/** Senders of packets: values of `Reg.source` and `CtMark.source`; 0 is none. */
export const Source = { tunnel: 1, gateway: 2, pod: 3, uplink: 4, host: 5 } as const;
/** One of the numbers in `Source`. */
export type Source = (typeof Source)[keyof typeof Source];

/**
 * Actions of the table Output: values of `Reg.outputKind`. `port` sends to `Reg.outputPort`, `inPort` back to the port
 * that the packet came from, `none` drops the packet.
 */
export const OutputKind = { none: 0, port: 1, inPort: 3 } as const;

/**
 * Action that writes a register or mark field of at most 32 bits and keeps the other bits. `value` is that of the field
 * (not shifted) and must fit in its bits, which is not checked.
 */
export function load(part: SubField, value: number): Action {
    const mask = maskOf(part);
    const shifted = BigInt(value) << BigInt(part.offset);
    return { type: "set_field", field: part.field, value: Number(shifted), mask: Number(mask) };
}

/** Action that copies a field to another; the widths must be equal, which is checked when the action is written. */
export function move(from: SubField, to: SubField): Action {
    return { type: "move", from, to };
}

/**
 * Match of packets from either of two sources, whose values must differ in one bit: of other pairs it would match
 * further sources.
 */
export function sourceIsEither(one: Source, other: Source): Match {
    const { field, offset } = Reg.source;
    const mask = 0xf & ~(one ^ other);
    return { [field]: { value: (one & mask) << offset, mask: mask << offset } };
}

/**
 * Match of several fields by value; fields of one register are combined into one value and mask. Fields are at most 32
 * bits; that values fit and parts do not overlap is not checked. Prerequisites are not added.
 */
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

/** Match of packets that no bridged Pod sent. */
export const notBridged: Match = partsAre([Reg.bridged, 0]);

function maskOf(part: SubField): bigint {
    return ((1n << BigInt(part.bits)) - 1n) << BigInt(part.offset);
}
