import { describe, expect, it } from "@jest/globals";
import {
    checkFlow,
    fieldList,
    formatMatch,
    OpenFlowError,
    Writer,
    type FieldName,
    type FieldSpec,
    type Match,
} from "../../src/codec/index.ts";
import { checkedEntry } from "../../src/codec/match/canonical.ts";
import { readOxm, writeOxm } from "../../src/codec/match/oxm.ts";
import { readFieldHeader, writeNiciraHeader } from "../../src/codec/match/sub-field.ts";
import { Reader } from "../../src/codec/wire/reader.ts";
import { checkWritable } from "../../src/codec/writable-fields.ts";
import { fieldManual, hex, type ManualField } from "../fixtures.ts";

const classes: readonly (readonly [prefix: string, oxmClass: number])[] = [
    ["NXM_OF_", 0],
    ["NXM_NX_", 1],
    ["OXM_OF_PKT_REG", 0x8001],
    ["OXM_OF_", 0x8000],
];
const formats: Readonly<Record<string, string>> = {
    decimal: "decimal",
    hexadecimal: "hex",
    Ethernet: "mac",
    IPv4: "ipv4",
    IPv6: "ipv6",
    frag: "frag",
    "ct state": "ct_state",
    "TCP flags": "tcp_flags",
    "tunnel flags": "hex",
    "packet type": "packet_type",
    "OpenFlow 1.0 port": "port",
};
/** Fields of Open vSwitch alone, which the manual does not describe. */
const internal: readonly FieldName[] = ["dp_hash", "recirc_id"];
const described = fieldList.filter(({ name }) => !internal.includes(name));

function header(name: string, code: number): readonly number[] {
    return [classes.find(([prefix]) => name.startsWith(prefix))?.[1] ?? NaN, code];
}

/** The manual's table of a field; it has one for all registers of a width, that of the first. */
function manualOf({ nxm, ofctl }: FieldSpec): ManualField {
    const found = fieldManual.find(({ codes }) => nxm in codes);
    if (found !== undefined) return found;
    const [, kind = "", number = ""] = /^(x*reg)(\d+)$/.exec(ofctl) ?? [];
    const first = fieldManual.find(({ names }) => names === `${kind}0`);
    if (first === undefined) throw new Error(`ovs-fields(7) has no ${nxm}`);
    const codes = Object.entries(first.codes).map(
        ([name, code]) => [name.replace(/0$/, number), code + Number(number)] as const,
    );
    return { ...first, names: ofctl, codes: Object.fromEntries(codes) };
}

function refusal(check: () => void): string | undefined {
    try {
        check();
        return undefined;
    } catch (error) {
        if (error instanceof OpenFlowError && error.fault === "caller") return `${error.code}: ${error.message}`;
        throw error;
    }
}

describe("fields, as ovs-fields(7) has them", () => {
    it.each(described.map((field) => [field.name, field] as const))("%s", (name, field) => {
        const manual = manualOf(field);
        expect(manual.names.split(" ")).toContain(field.ofctl);
        expect(field.nicira).toEqual(header(field.nxm, manual.codes[field.nxm] ?? NaN));
        // The port has 16 bits and a table of its own there.
        const oxm = name === "in_port" ? (["OXM_OF_IN_PORT", 0] as const) : oxmOf(manual);
        expect([field.oxmClass, field.oxmField]).toEqual(oxm === undefined ? field.nicira : header(...oxm));
        expect(field.maskable).toBe(manual.maskable);
        // Bit 12 of OXM_OF_VLAN_VID is that there is a tag; ovs-ofctl writes the number alone, as decimal.
        const own: Partial<Record<FieldName, readonly [number, string]>> = {
            in_port: [32, "port"],
            actset_output: [32, "port"],
            vlan_vid: [13, "hex"],
            // Of its 16 bits one is defined so far.
            tun_flags: [16, "hex"],
        };
        expect([field.bits, field.format]).toEqual(own[name] ?? [manual.bits, formats[manual.format]]);
        expect(field.all).toBe(2n ** BigInt(field.bits) - 1n);
    });

    it.each(described.map((field) => [field.name, field] as const))("%s: what set_field may write", (name, field) => {
        // OpenFlow 1.5 section 7.2.6.7 excludes the port; only ct writes the mark and the label of a connection.
        const writable = manualOf(field).writable && !["in_port", "ct_mark", "ct_label"].includes(name);
        expect(refusal(() => checkWritable(name))).toBe(
            writable ? undefined : `BAD_FIELD: set_field ${name}: the field can only be read`,
        );
    });

    it("of Open vSwitch alone", () => {
        expect(fieldList.filter(({ name }) => internal.includes(name))).toMatchObject([
            { name: "dp_hash", ofctl: "dp_hash", nxm: "NXM_NX_DP_HASH", oxmField: 35, bits: 32, maskable: true },
            { name: "recirc_id", ofctl: "recirc_id", nxm: "NXM_NX_RECIRC_ID", oxmField: 36, bits: 32, maskable: false },
        ]);
        expect(formatMatch({ dp_hash: { value: 16, mask: 0xff }, recirc_id: 10 })).toBe(
            "dp_hash=0x10/0xff,recirc_id=0xa",
        );
    });

    function oxmOf({ codes }: ManualField): readonly [string, number] | undefined {
        return Object.entries(codes).find(([name]) => name.startsWith("OXM_OF_"));
    }
});

describe("values of fields", () => {
    it.each(fieldList.map((field) => [field.name, field] as const))("%s", (name, field) => {
        const { all, bits } = field;
        expect(checkedEntry(name, all)).toEqual({ field, value: all, mask: undefined });
        expect(checkedEntry(name, { value: 0, mask: all })).toEqual({ field, value: 0n, mask: undefined });
        expect(checkedEntry(name, { value: 0, mask: 0 })).toEqual({ field, value: 0n, mask: 0n });
        const wide = `BAD_VALUE: ${name}: ${all + 1n} does not fit into ${bits} bits`;
        expect(refusal(() => checkedEntry(name, all + 1n))).toBe(wide);
        expect(refusal(() => checkedEntry(name, { value: 0, mask: all + 1n }))).toBe(wide);
        expect(refusal(() => checkedEntry(name, -1))).toBe(`BAD_VALUE: ${name}: -1 does not fit into ${bits} bits`);
        const part = refusal(() => checkedEntry(name, { value: 0, mask: all >> 1n }));
        const given = `got 0x${(all >> 1n).toString(16)}; give the exact value`;
        const noPart = field.maskable || bits === 1 ? undefined : `BAD_VALUE: ${name} takes no mask, ${given}`;
        expect(part).toBe(noPart);
    });

    it.each(fieldList.map((field) => [field.name, field] as const))(
        "%s: read from both of its headers",
        (name, field) => {
            const writer = new Writer();
            writeOxm(writer, checkedEntry(name, field.all));
            expect(readOxm(new Reader(writer.finish(), "field"))).toEqual({ field, value: field.all, mask: undefined });
            // With a mask of all bits, and of none: the first is as without, the second matches every packet.
            const masked = (value: bigint, mask: bigint): unknown => {
                const other = new Writer();
                other.u16(field.oxmClass);
                other.u8((field.oxmField << 1) | 1);
                other.u8(field.bytes * 2);
                other.uint(value, field.bytes);
                other.uint(mask, field.bytes);
                return readOxm(new Reader(other.finish(), "field"));
            };
            const every = 2n ** BigInt(field.bytes * 8) - 1n;
            expect(masked(field.all, every)).toEqual({ field, value: field.all, mask: undefined });
            expect(masked(0n, 0n)).toEqual({ field, value: 0n, mask: 0n });
            expect(masked(0n, every ^ field.all)).toEqual({ field, value: 0n, mask: 0n });
            writer.truncate(0);
            writeNiciraHeader(writer, field);
            expect(readFieldHeader(new Reader(writer.finish(), "field"))).toBe(field);
            // The last byte is the length of the value.
            const bytes = name === "in_port" ? 2 : [1, 2, 4, 6, 8, 16].find((size) => size * 8 >= field.bits);
            expect(hex(writer.finish().subarray(3))).toBe((bytes ?? NaN).toString(16).padStart(2, "0"));
        },
    );

    it("a number must be exact", () => {
        for (const value of [2 ** 53, NaN, Infinity, 0.5]) {
            expect(refusal(() => checkedEntry("xreg0", value))).toBe(
                `BAD_VALUE: xreg0: ${value} is no integer; above 2^53 use a bigint`,
            );
        }
        expect(checkedEntry("xreg0", 2 ** 53 - 1).value).toBe(2n ** 53n - 1n);
        expect(refusal(() => checkedEntry("reg0", { value: 3, mask: 1 }))).toBe(
            "BAD_VALUE: reg0: value 0x3 has bits outside its mask 0x1",
        );
        expect(refusal(() => checkedEntry("nw_src" as FieldName, 1))).toBe(
            'BAD_FIELD: no match field is named "nw_src"; see ovs-fields(7)',
        );
    });
});

describe("prerequisites, as ovs-fields(7) has them", () => {
    const v4: Match = { eth_type: 0x0800 };
    const v6: Match = { eth_type: 0x86dd };
    const icmp6: Match = { ...v6, ip_proto: 58 };
    const solicit: Match = { ...icmp6, icmpv6_type: 135, icmpv6_code: 0 };
    const advert: Match = { ...solicit, icmpv6_type: 136 };
    const over = (ip_proto: number): readonly Match[] => [v4, v6].map((family) => ({ ...family, ip_proto }));
    const arp: Match = { eth_type: 0x0806 };
    const mpls: Match = { eth_type: 0x8847 };
    const tag: Match = { vlan_vid: { value: 0x1000, mask: 0x1000 } };
    const tracked: Match = { ct_state: { value: 0x21, mask: 0x21 } };
    const rarp: Match = { eth_type: 0x8035 };
    const multicast: Match = { eth_type: 0x8848 };

    const matches: readonly Match[] = [
        {},
        v4,
        v6,
        arp,
        rarp,
        mpls,
        multicast,
        tag,
        tracked,
        { vlan_vid: 0 },
        ...[1, 6, 17, 58, 132].flatMap(over),
        solicit,
        advert,
        { ...solicit, icmpv6_code: 1 },
        { ...icmp6, icmpv6_type: 135 },
        { ...icmp6, icmpv6_code: 0 },
        { ...solicit, icmpv6_type: 134 },
    ];
    const enough: Readonly<Record<string, readonly Match[]>> = {
        none: matches,
        Ethernet: matches,
        "VLAN VID": [tag],
        CT: [tracked],
        ARP: [arp, rarp],
        MPLS: [mpls, multicast],
        IPv4: matches.filter(({ eth_type }) => eth_type === 0x0800),
        IPv6: matches.filter(({ eth_type }) => eth_type === 0x86dd),
        "IPv4/IPv6": matches.filter(({ eth_type }) => eth_type === 0x0800 || eth_type === 0x86dd),
        TCP: over(6),
        UDP: over(17),
        SCTP: over(132),
        ICMPv4: over(1).slice(0, 1),
        ICMPv6: matches.filter(({ eth_type, ip_proto }) => eth_type === 0x86dd && ip_proto === 58),
        ND: [solicit, advert],
        "ND solicit": [solicit],
        "ND advert": [advert],
    };

    it.each(described.map((field) => [field.name, field] as const))("%s", (name, field) => {
        const needed = enough[manualOf(field).prerequisites];
        expect(needed).not.toBeUndefined();
        const from = { field: name, offset: 0, bits: 1 };
        const reads = (match: Match): boolean =>
            refusal(() => checkFlow({ match, actions: [{ type: "move", from, to: { ...from, field: "reg0" } }] })) ===
            undefined;
        expect(matches.filter(reads)).toEqual(needed);
    });
});
