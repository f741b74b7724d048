import fc from "fast-check";
import {
    fieldList,
    Port,
    type Action,
    type FieldName,
    type Flow,
    type Match,
    type SubField,
} from "../../src/codec/index.ts";

const names: readonly FieldName[] = fieldList
    .map(({ name }) => name)
    .filter((name) => !/recirc|dp_hash|packet_type|actset|xreg|gbp|tun_flags|mpls|conj_id/.test(name));
const field = fc.constantFrom(...names);

/** Values of the fields that are prerequisites of others. */
const usual: Partial<Record<FieldName, Match[FieldName] & {}>> = {
    eth_type: 0x0800,
    icmpv6_type: 135,
    vlan_vid: 0x1001,
    vlan_tci: 0x1001,
    ct_state: { value: 0x21, mask: 0x21 },
};

/** Present in one of `oneIn` cases. */
function rarely<T>(oneIn: number, arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> {
    return fc.oneof({ weight: oneIn - 1, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
}

/** Matches in which prerequisites are present about as often as they are missing. */
const match: fc.Arbitrary<Match> = fc
    .record({
        eth_type: fc.constantFrom(undefined, 0x0800, 0x0800, 0x86dd, 0x86dd, 0x0806, 0x8847, 0x88cc),
        ip_proto: rarely(3, fc.constantFrom(1, 6, 17, 58, 132)),
        icmpv6_type: rarely(12, fc.constantFrom(128, 135, 136)),
        icmpv6_code: rarely(12, fc.constantFrom(0, 1)),
        vlan_vid: rarely(4, fc.constantFrom(0, 0x1005, { value: 0x1000, mask: 0x1000 }, { value: 0, mask: 0x1000 })),
        ct_state: rarely(
            3,
            fc.constantFrom(
                { value: 0x20, mask: 0x20 },
                { value: 0x21, mask: 0x21 },
                { value: 0x20, mask: 0x30 },
                { value: 0x22, mask: 0x23 },
            ),
        ),
        extra: fc.array(field, { maxLength: 1 }),
    })
    .map(({ extra, ...given }) => {
        const known = Object.entries(given).filter(([, value]) => value !== undefined);
        const more = extra.filter((name) => name !== "vlan_tci" && known.every(([other]) => other !== name));
        return Object.fromEntries([...known, ...more.map((name) => [name, usual[name] ?? 1])]) as Match;
    });

const part = (name: FieldName, bits = 1): SubField => ({ field: name, offset: 0, bits });
const simple: readonly Action[] = [
    { type: "dec_ttl" },
    { type: "ct", zone: 1 },
    { type: "ct_clear" },
    { type: "pop_vlan" },
    { type: "push_vlan", etherType: 0x8100 },
    { type: "output", port: Port.NORMAL },
    { type: "conjunction", clause: 1, clauses: 2, id: 1 },
    { type: "resubmit", table: 3 },
    { type: "note", data: new Uint8Array(6) },
    { type: "clone", actions: [{ type: "dec_ttl" }, { type: "pop_vlan" }] },
    {
        type: "clone",
        actions: [
            { type: "ct", zone: 1 },
            { type: "push_vlan", etherType: 0x8100 },
        ],
    },
    { type: "ct", commit: true, zone: 1, nat: { kind: "src", min: { family: 4, value: 1n } } },
    { type: "ct", commit: true, zone: 1, nat: { kind: "src", min: { family: 6, value: 1n } } },
    ...(["ct_mark", "ct_label", "reg0"] as const).map((name): Action => {
        return { type: "ct", commit: true, zone: 1, exec: [{ type: "set_field", field: name, value: 1 }] };
    }),
    ...(["reg1", "in_port", "tcp_dst", "ipv4_src"] as const).map((name): Action => {
        return { type: "output_field", source: part(name, 16) };
    }),
    ...(["eth_type", "ipv4_src", "tcp_dst"] as const).map((name): Action => {
        return {
            type: "learn",
            table: 9,
            specs: [{ kind: "match", field: part(name, 16), source: { value: 0x0800 } }],
        };
    }),
];
const action: fc.Arbitrary<Action> = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...simple) },
    {
        weight: 1,
        arbitrary: field.map((name): Action => {
            const value = usual[name] ?? 1;
            return { type: "set_field", field: name, value: typeof value === "object" ? value.value : value };
        }),
    },
    {
        weight: 1,
        arbitrary: field
            .filter((name) => name !== "in_port")
            .map((name): Action => ({ type: "move", from: part(name), to: part("reg5") })),
    },
);

/** Flows whose values fit their fields; many are rejected for their combination. */
export const arbitraryFlow: fc.Arbitrary<Omit<Flow, "priority">> = fc
    .record({
        table: fc.nat(2),
        match,
        actions: fc.array(action, { maxLength: 2 }),
        gotoTable: fc.option(fc.nat(3), { nil: undefined, freq: 2 }),
    })
    .map(({ gotoTable, ...rest }) => (gotoTable === undefined ? rest : { ...rest, gotoTable }));
