import { CtState, fieldList, fieldSpec, type FieldName } from "./fields.ts";
import { type SubField } from "./match.ts";
import { ones, type MatchEntry } from "./match/canonical.ts";

/** The values that a match fixes for all its packets, for checks of prerequisites. */
export class Known {
    /** VLAN tags of the frame, by the match and the actions so far. */
    tags: number;
    readonly #entries: Map<FieldName, MatchEntry>;

    constructor(entries: readonly MatchEntry[]) {
        this.#entries = new Map(entries.map((entry) => [entry.field.name, entry]));
        this.tags = ((this.#entries.get("vlan_vid")?.value ?? 0n) & 0x1000n) === 0n ? 0 : 1;
    }

    /** Adds a constant that a learned flow will match. */
    learn({ field, offset, bits }: SubField, value: bigint): void {
        const spec = fieldSpec(field);
        const mask = bits === spec.bits ? undefined : ones(bits) << BigInt(offset);
        this.#entries.set(field, { field: spec, value: value << BigInt(offset), mask });
    }

    names(): Iterable<FieldName> {
        return this.#entries.keys();
    }

    get ip(): boolean {
        return this.is("eth_type", 0x0800, 0x86dd);
    }

    /** The prerequisite of the field that the match lacks, as text for an error; undefined when it lacks none. */
    missing(field: FieldName): string | undefined {
        if (!this.#etherTypeFits(field)) return etherTypeWords(field);
        const protocol = protocolOf.get(field);
        if (protocol !== undefined && !this.is("ip_proto", protocol)) return `ip_proto ${protocol}`;
        if (field.startsWith("nd_")) return this.#missingNd(field);
        if (field === "vlan_pcp" && this.tags === 0) return "a vlan_vid that matches a tag";
        if (ctTuple.has(field) && !this.#ctValid()) return "a ct_state that only tracked packets have";
        return undefined;
    }

    #etherTypeFits(field: FieldName): boolean {
        const types = etherTypesOf.get(field);
        return types === undefined || this.is("eth_type", ...types);
    }

    #missingNd(field: FieldName): string | undefined {
        const types = field === "nd_sll" ? [135] : field === "nd_tll" ? [136] : [135, 136];
        const fits = this.is("icmpv6_type", ...types) && this.is("icmpv6_code", 0);
        return fits ? undefined : `icmpv6_type ${types.join(" or ")} and icmpv6_code 0`;
    }

    #ctValid(): boolean {
        const entry = this.#entries.get("ct_state");
        if (entry === undefined) return false;
        const { new: isNew, est, rel, rpl, snat, dnat, trk, inv } = CtState;
        const value = Number(entry.value);
        const mask = Number(entry.mask ?? entry.field.all);
        if ((value & (isNew | est | rel | rpl | snat | dnat)) !== 0) return true;
        return (value & trk) !== 0 && (mask & inv) !== 0 && (value & inv) === 0;
    }

    is(field: FieldName, ...values: readonly number[]): boolean {
        const entry = this.#entries.get(field);
        return entry !== undefined && entry.mask === undefined && values.includes(Number(entry.value));
    }
}

/** As many tags as Open vSwitch can match and change. */
export const maxTags = 2;

/** In a match, addresses of connections need an eth_type of their family; as a source of `move` they do not. */
export const ctFamilies: ReadonlyMap<FieldName, number> = new Map([
    ["ct_nw_src", 0x0800],
    ["ct_nw_dst", 0x0800],
    ["ct_ipv6_src", 0x86dd],
    ["ct_ipv6_dst", 0x86dd],
]);

const ctTuple: ReadonlySet<FieldName> = new Set([
    "ct_nw_src",
    "ct_nw_dst",
    "ct_ipv6_src",
    "ct_ipv6_dst",
    "ct_nw_proto",
    "ct_tp_src",
    "ct_tp_dst",
]);

const protocolOf = byField([
    ["tcp_", 6],
    ["udp_", 17],
    ["sctp_", 132],
    ["icmpv4_", 1],
    ["icmpv6_", 58],
    ["nd_", 58],
]);

const ipv4 = [0x0800];
const ipv6 = [0x86dd];
const anyIp = [0x0800, 0x86dd];
const etherTypesOf = byField<readonly number[]>([
    ["ipv4_", ipv4],
    ["icmpv4_", ipv4],
    ["ipv6_", ipv6],
    ["icmpv6_", ipv6],
    ["nd_", ipv6],
    ["ip_", anyIp],
    ["tcp_", anyIp],
    ["udp_", anyIp],
    ["sctp_", anyIp],
    ["arp_", [0x0806, 0x8035]],
    ["mpls_", [0x8847, 0x8848]],
]);

/** Maps each field to the value of the first prefix that its name starts with; fields without one are left out. */
function byField<T>(prefixes: readonly (readonly [prefix: string, value: T])[]): ReadonlyMap<FieldName, T> {
    return new Map(
        fieldList.flatMap(({ name }) => {
            const found = prefixes.find(([prefix]) => name.startsWith(prefix));
            return found === undefined ? [] : [[name, found[1]] as const];
        }),
    );
}

function etherTypeWords(field: FieldName): string {
    return `eth_type ${(etherTypesOf.get(field) ?? []).map((type) => `0x${type.toString(16).padStart(4, "0")}`).join(" or ")}`;
}
