import { describe, expect, it } from "@jest/globals";
import {
    decodeMessage,
    errorName,
    flowBodyKey,
    OpenFlowError,
    writeFlowMod,
    Writer,
    type Action,
    type Message,
} from "../../src/codec/index.ts";
import { writePacketOut } from "../../src/codec/message/packet.ts";
import { bytes, hex } from "../fixtures.ts";

const word = (value: number): string => value.toString(16).padStart(4, "0");

function message(type: number, body: string): Message {
    return decodeMessage(bytes(`06${type.toString(16).padStart(2, "0")}${word(8 + body.length / 2)}00000001${body}`));
}

/** Decodes a packet-out with these bytes of actions. */
function actions(text: string): readonly Action[] {
    const decoded = message(13, `ffffffff${word(text.length / 2)}00000001000c800000040000000100000000${text}`);
    return decoded.type === "packet_out" ? decoded.packet.actions : [];
}

/** An action of Nicira's, padded to 8 bytes. */
function nicira(subtype: number, body: string): string {
    const length = Math.ceil((10 + body.length / 2) / 8) * 8;
    return `ffff${word(length)}00002320${word(subtype)}${body}`.padEnd(length * 2, "0");
}

function failure(read: () => unknown): string {
    try {
        read();
    } catch (error) {
        if (error instanceof OpenFlowError && error.fault === "remote") return `${error.code}: ${error.message}`;
        throw error;
    }
    return "was read";
}

const clone = (nested: string): string => nicira(42, `000000000000${nested}`);
const ct = (nested: string): string => nicira(35, `0000000000000001ff0000000000${nested}`);
const nat = (flags: number, range: number, rest = ""): string => nicira(36, `0000${word(flags)}${word(range)}${rest}`);
const learn = (specs: string): string =>
    nicira(16, `${"0000".repeat(2)}8000${"0".repeat(16)}000001000000${"0000"}${specs}`);

describe("actions that break the protocol are refused with what is wrong", () => {
    it.each([
        ["a length that is no multiple of 8", "000000090000000100", /action 0 has length 9, a multiple of 8 from 8/],
        ["a length that not even its header has", "0000000400000001", /action 0 has length 4/],
        ["a group of 16 bytes", "00160010" + "0".repeat(24), /its body has 12 bytes, must have 4/],
        ["nat outside ct", nat(0, 0), /MALFORMED: actions: nat outside ct/],
        ["nat in a clone", nicira(42, "000000000000" + nat(0, 0)), /clone: nat outside ct/],
        ["clone in clone in clone", clone(clone(clone(clone(clone(clone("")))))), /actions are nested too deeply/],
        ["two nats", ct(nat(0, 0) + nat(0, 0)), /ct: more than one nat/],
        ["nat to source and destination", ct(nat(3, 0)), /nat: both src and dst/],
        ["nat that restores to a range", ct(nat(0, 1, "0a000001")), /nat: a range without src or dst/],
        ["nat to both families", ct(nat(1, 5, "0a000001" + "0".repeat(32))), /nat: addresses of both families/],
        ["nat to a last IPv4 address", ct(nat(1, 2, "0a000001")), /nat: a last address without a first/],
        ["nat to a last IPv6 address", ct(nat(1, 8, "0".repeat(32))), /nat: a last address without a first/],
        ["nat to a last port", ct(nat(1, 32, "0001")), /nat: a last port without a first/],
        ["nat with bytes after its end", ct(nat(1, 16, "0001" + "0".repeat(16))), /bytes are left over after its end/],
        ["ct in ct in ct", ct(ct(ct(ct(ct(ct("")))))), /actions are nested too deeply/],
        ["clause 2 of 1", nicira(34, "010100000001"), /conjunction: clause 2 of 1/],
        ["clause 3 of 2", nicira(34, "020200000001"), /conjunction: clause 3 of 2/],
        ["a controller with an unknown reason", nicira(20, "ffff00000900"), /controller: unknown reason 9/],
        ["a controller with an unknown property", nicira(37, "00000000000000090004"), /controller: unknown property 9/],
        [
            "a controller with a property without length",
            nicira(37, "00000000000000010003"),
            /property of length 3, at least 4/,
        ],
        [
            "output to bits outside of a register",
            nicira(15, "07df00010004ffff"),
            /reg0\[31\.\.62\] lies outside the field, which has 32 bits/,
        ],
        ["learn of 0 bits", learn("2000"), /learn: a part of 0 bits/],
        ["learn with unknown bits", learn("8010"), /learn: header 0x8010/],
        ["learn of a kind that is none", learn("1810"), /learn: header 0x1810/],
        ["learn of a constant that is too wide", learn("2001000200010004"), /learn: constant does not fit into 1 bits/],
        ["learn of the output of a constant", learn("30010001"), /learn: output of a constant/],
        ["learn with bytes after its parts", learn("0000000000000001"), /learn: bytes after the last part/],
    ])("%s", (_name, text, words) => {
        expect(failure(() => actions(text))).toMatch(words);
    });

    it.each<[string, string, Action]>([
        ["output", "00000010000000010000000000000000", { type: "output", port: 1 }],
        [
            "output of a length that only a controller heeds",
            "00000010000000010009000000000000",
            { type: "output", port: 1 },
        ],
        [
            "output to the controller",
            "00000010fffffffd0009000000000000",
            { type: "output", port: 0xfffffffd, maxLength: 9 },
        ],
        ["all to the controller", "00000010fffffffdffff000000000000", { type: "output", port: 0xfffffffd }],
        ["group", "0016000800000007", { type: "group", group: 7 }],
        ["meter", "001d000800000007", { type: "meter", meter: 7 }],
        ["set_queue", "0015000800000007", { type: "set_queue", queue: 7 }],
        ["push_vlan", "0011000881000000", { type: "push_vlan", etherType: 0x8100 }],
        ["pop_vlan", "0012000800000000", { type: "pop_vlan" }],
        ["dec_ttl", "0018000800000000", { type: "dec_ttl" }],
        ["controller", nicira(20, "000900020500"), { type: "controller", maxLength: 9, id: 2, reason: "packet_out" }],
        ["resubmit of old", nicira(1, "000500000000"), { type: "resubmit", port: 5 }],
        ["resubmit to a reserved port", nicira(14, "fffe09000000"), { type: "resubmit", port: 0xfffffffe, table: 9 }],
        [
            "move of old",
            nicira(6, "0008000000080001000400010204"),
            { type: "move", from: { field: "reg0", offset: 0, bits: 8 }, to: { field: "reg1", offset: 8, bits: 8 } },
        ],
        ["learn with padding", learn("0000"), { type: "learn", table: 1, specs: [] }],
        ["an action of nobody", "7777000800000001", { type: "raw", bytes: bytes("7777000800000001") }],
        [
            "another vendor's",
            "ffff001000001234" + "0".repeat(16),
            { type: "raw", bytes: bytes("ffff001000001234" + "0".repeat(16)) },
        ],
        ["a Nicira action without a type here", nicira(99, ""), { type: "raw", bytes: bytes(nicira(99, "")) }],
    ])("%s is read", (_name, text, action) => {
        expect(actions(text)).toEqual([action]);
    });
});

describe("messages that break the protocol are refused with what is wrong", () => {
    const flowMod = (instructions: string, command = "00"): string =>
        `${"0".repeat(32)}01${command}0000000000c8ffffffffffffffffffffffff000000000001000400000000${instructions}`;
    const apply = "0004000800000000";
    /** The body of a packet-out with these fields of its match. */
    const oxms = (fields: string): string => {
        const match = `0001${word(4 + fields.length / 2)}${fields}`;
        return `ffffffff000000000000`.slice(0, 16) + match.padEnd(Math.ceil(match.length / 16) * 16, "0");
    };
    const fieldOfNobody = /^MALFORMED: flow mod: the match has a field/;

    it.each([
        ["a flow mod with an unknown command", 14, flowMod("", "05"), /flow mod: unknown command 5/],
        ["an instruction of 4 bytes", 14, flowMod("00010004"), /instruction 1 of length 4, a multiple of 8 from 8/],
        ["an instruction of 12 bytes", 14, flowMod("0001000c0000000000000000"), /instruction 1 of length 12/],
        ["an instruction twice", 14, flowMod(apply + apply), /instruction 4 comes twice/],
        ["an instruction of nobody", 14, flowMod("0009000800000000"), /instruction 9: this codec does not know it/],
        ["metadata of 32 bytes", 14, flowMod(`00020020${"0".repeat(56)}`), /instruction 2/],
        [
            "a match of another type",
            13,
            `ffffffff0000000000000004`.padEnd(32, "0"),
            /match type 0, only 1 \(OXM\) is allowed/,
        ],
        [
            "a match that is shorter than its header",
            13,
            `ffffffff000000000001000300000000`,
            /match length 3, at least 4/,
        ],
        [
            "a packet-out without in_port",
            13,
            `ffffffff000000000001000400000000`,
            /packet-out: its match has no in_port/,
        ],
        [
            "a match of a part of the priority of a tag",
            13,
            `ffffffff000000000001000c000009042000200000000000`,
            /MALFORMED: .*vlan_tci: vlan_pcp takes no mask/,
        ],
        ["a field of a wrong length", 13, oxms("8000000400000001" + "80000a0108"), /eth_type has 2 bytes, got 1/],
        ["a mask of half the length", 13, oxms("0001010600000001ffff"), /reg0 has 4 bytes and as many of mask, got 6/],
        ["a value that is too wide", 13, oxms("80000e0108"), /vlan_pcp: 0x8 does not fit into 3 bits/],
        ["a value outside its mask", 13, oxms("000101080000000300000001"), /reg0: value has bits outside its mask/],
        ["a mask of a field without", 13, oxms("80000b0408000f00"), /eth_type takes no mask/],
        ["a field twice", 13, oxms("0001000400000001".repeat(2)), /reg0 comes twice/],
        [
            "a register twice, once in a pair",
            13,
            oxms("0001000400000001" + "80010008".padEnd(24, "0")),
            /reg0 comes twice/,
        ],
        ["a flow mod with a field of nobody", 14, flowMod("").replace("00010004", "000100088000fe00"), fieldOfNobody],
        ["a packet-out with a field of nobody", 13, oxms("8000fe00"), /^MALFORMED: packet-out: the match has a field/],
        ["a hello with an element of 3 bytes", 0, "0001000300000040", /hello: element of length 3, at least 4/],
        ["a hello of an element of 3 bytes alone", 0, "00010003", /hello: element of length 3, at least 4/],
        [
            "a flow of 32 bytes, without counters",
            19,
            `0001000000000000${"0020".padEnd(48, "0")}0001000400000000`,
            /SHORT: flow/,
        ],
        ["a flow of 24 bytes", 19, "00010000000000000018", /flow of length 24, at least 32/],
        ["a port of 32 bytes", 19, "000d000000000000000000010020", /port of length 32, at least 40/],
        ["a bundle in a bundle", 34, "00000001000000000622001000000001", /bundle add inside a bundle add/],
        ["a packet-in without packet", 4, "000023200000001e", /packet-in without its packet/],
        [
            "a packet-in with a property of 3 bytes",
            4,
            "000023200000001e00000003",
            /packet-in: property of length 3, at least 4/,
        ],
    ])("%s", (_name, type, body, words) => {
        expect(failure(() => message(type, body))).toMatch(words);
    });

    it("reports which versions a hello offers", () => {
        const versions = (body: string): unknown => message(0, body);
        expect(versions("0001000800000072")).toMatchObject({ versions: [1, 4, 5, 6] });
        // An element of another kind comes first, with its padding.
        expect(versions("00070006ffff00000001000800000040")).toMatchObject({ versions: [6] });
        expect(versions("00070008000000020001000800000040")).toMatchObject({ versions: [6] });
        expect(versions("")).toMatchObject({ versions: [1, 2, 3, 4, 5, 6] });
        // A bitmap without a word has no meaning.
        expect(versions("00010004")).toMatchObject({ versions: [1, 2, 3, 4, 5, 6] });
    });

    it("takes a message for another's that is not Nicira's", () => {
        expect(message(4, "000000010000001e")).toMatchObject({ type: "unknown", messageType: 4 });
        expect(message(4, "0000232000000063")).toMatchObject({ type: "unknown", messageType: 4 });
        expect(message(19, "0009000000000000")).toMatchObject({
            reply: { kind: "unknown", multipartType: 9, more: false },
        });
    });

    it("reads of a packet-in the userdata and no property it does not know", () => {
        const body = "000000060102" + "0000" + "0007000501000000" + "0063000501000000";
        expect(message(4, `000023200000001e${body}`)).toMatchObject({
            packet: {
                data: bytes("0102"),
                totalLength: 2,
                table: 0,
                cookie: 0n,
                reason: 0,
                metadata: {},
                userdata: bytes("01"),
            },
        });
    });

    it("reads back the packet-out that it wrote", () => {
        const packet = { inPort: 3, actions: [{ type: "dec_ttl" }], data: bytes("0102") } as const;
        const writer = new Writer();
        writePacketOut(writer, 7, packet);
        expect(decodeMessage(writer.finish())).toEqual({ type: "packet_out", xid: 7, packet });
        const many: Action[] = Array.from({ length: 8192 }, () => ({ type: "dec_ttl" }));
        const write = (): void => writePacketOut(new Writer(), 7, { ...packet, actions: many });
        expect(write).toThrow(expect.objectContaining({ code: "TOO_BIG" }));
    });
});

describe("names of errors", () => {
    it.each([
        [0, 0, "OFPHFC_INCOMPATIBLE"],
        [1, 5, "OFPBRC_EPERM"],
        [1, 10, "OFPBRC_IS_SECONDARY"],
        [1, 18, "OFPBRC_UNKNOWN"],
        [2, 0, "OFPBAC_BAD_TYPE"],
        [2, 10, "OFPBAC_MATCH_INCONSISTENT"],
        [2, 17, "OFPBAC_BAD_METER"],
        [3, 9, "OFPBIC_DUP_INST"],
        [4, 6, "OFPBMC_BAD_FIELD"],
        [4, 10, "OFPBMC_DUP_FIELD"],
        [5, 1, "OFPFMFC_TABLE_FULL"],
        [6, 1, "OFPGMFC_INVALID_GROUP"],
        [6, 8, "OFPGMFC_UNKNOWN_GROUP"],
        [7, 0, "OFPPMFC_BAD_PORT"],
        [8, 0, "OFPTMFC_BAD_TABLE"],
        [12, 11, "OFPMMFC_OUT_OF_BANDS"],
        [14, 2, "OFPBPC_BAD_VALUE"],
        [17, 2, "OFPBFC_BAD_ID"],
        [17, 18, "OFPBFC_SCHED_PAST"],
        [17, 19, "error type 17 code 19"],
        [99, 0, "error type 99 code 0"],
    ])("type %i code %i is %s", (type, code, name) => {
        expect(errorName(type, code)).toBe(name);
    });

    it("a vendor's error has the vendor's number", () => {
        expect(message(1, "ffff000700002320abcd")).toMatchObject({
            error: { vendor: 0x2320, errorCode: 7, name: "error code 7 of vendor 0x2320", data: bytes("abcd") },
        });
    });
});

describe("flowBodyKey", () => {
    it("differs for flows that do something else, be it far behind", () => {
        const flow = { actions: [{ type: "note", data: new Uint8Array(2000) }] as Action[] };
        const other = new Uint8Array(2000);
        other[1999] = 1;
        const keys = [
            flow,
            { actions: [] },
            { ...flow, idleTimeout: 1 },
            { ...flow, hardTimeout: 1 },
            { ...flow, importance: 1 },
            { ...flow, sendFlowRemoved: true },
            { ...flow, gotoTable: 1 },
            { actions: [{ type: "note", data: other }] as Action[] },
        ].map(flowBodyKey);
        expect(new Set(keys).size).toBe(keys.length);
        expect(flowBodyKey({ ...flow, idleTimeout: 0, sendFlowRemoved: false })).toBe(keys[0]);
    });
});

describe("controller actions take the smallest form that expresses it", () => {
    it.each<[string, Action, number]>([
        ["output", { type: "controller" }, 16],
        ["output with a length", { type: "controller", maxLength: 9, userdata: new Uint8Array(0) }, 16],
        ["controller", { type: "controller", id: 1, reason: "group" }, 16],
        [
            "controller2",
            { type: "controller", maxLength: 9, id: 1, reason: "group", userdata: bytes("01"), pause: true, meter: 5 },
            64,
        ],
    ])("%s", (_name, action, length) => {
        const size = (list: Action[]): number => {
            const writer = new Writer();
            writeFlowMod(writer, 1, { command: "add", flow: { table: 0, priority: 0, match: {}, actions: list } });
            return hex(writer.finish()).length / 2;
        };
        expect(size([action, { type: "dec_ttl" }]) - size([{ type: "dec_ttl" }])).toBe(length);
    });
});

describe("groups and meters that break the protocol are refused with what is wrong", () => {
    const bucketHeader = (length: number, actionBytes = 0): string => `${word(length)}${word(actionBytes)}00000001`;
    const groupMod = (buckets: string, rest = "", command = 0, type = 1, bucket = "ffffffff"): string =>
        failure(() =>
            message(
                15,
                `${word(command)}${type.toString(16).padStart(2, "0")}0000000007${word(buckets.length / 2)}0000${bucket}${buckets}${rest}`,
            ),
        );
    const method = (name: string, rest = "", vendor = "0000154d", kind = "00000001"): string =>
        `ffff${word(40 + rest.length / 2)}${vendor}${kind}00000000${hex(new TextEncoder().encode(name)).padEnd(32, "0")}${"0".repeat(16)}${rest}`;

    it.each([
        ["a command that is none", groupMod("", "", 4), /group mod: unknown command 4/],
        ["a type that is none", groupMod("", "", 0, 4), /group of unknown type 4/],
        ["buckets inserted at all", groupMod("", "", 3), /buckets inserted at all of them/],
        ["a place that is none", groupMod("", "", 3, 1, "ffffff01"), /bucket 0xffffff01 is none/],
        ["a bucket shorter than its header", groupMod(bucketHeader(7)), /bucket of length 7, at least 8/],
        ["a bucket longer than the list", groupMod(bucketHeader(16)), /SHORT: buckets/],
        ["actions longer than their bucket", groupMod(bucketHeader(8, 8)), /SHORT: bucket/],
        ["an unknown property of a bucket", groupMod(`${bucketHeader(16)}0003000800000000`), /unknown property 3/],
        [
            "a property of a length",
            groupMod(`${bucketHeader(16)}0000000700000000`),
            /property 0 of length 7, must be 8/,
        ],
        ["a property of the group of no length", groupMod("", "ffff0003"), /property of length 3, at least 4/],
        ["an unknown property of the group", groupMod("", "0000000400000000"), /group property: unknown type 0/],
        ["another vendor", groupMod("", method("hash", "", "00002320")), /property 1 of experimenter 0x2320/],
        ["another property of the vendor", groupMod("", method("hash", "", "0000154d", "00000002")), /property 2 of/],
        ["an unknown method", groupMod("", method("maglev")), /unknown selection method "maglev"/],
        ["a method without end", groupMod("", method("hashhashhashhash")), /unknown selection method/],
        ["dp_hash with fields", groupMod("", method("dp_hash", "80001604ffffffff")), /dp_hash with fields/],
        ["an unknown field", groupMod("", method("hash", "8000fe04ffffffff")), /a field that this codec does not know/],
        ["a field of no bits", groupMod("", method("hash", "8000160400000000")), /ipv4_src without bits/],
        ["two methods", groupMod("", method("hash") + method("hash")), /a second selection method/],
    ])("%s", (_name, text, words) => {
        expect(text).toMatch(words);
    });

    const reply = (type: number, body: string): string =>
        failure(() => message(19, `${word(type)}0000${"00000000"}${body}`));

    it.each([
        ["a group shorter than its header", reply(7, "000f" + "00".repeat(14)), /group of length 15, at least 16/],
        ["counters shorter than their header", reply(6, "0027" + "00".repeat(38)), /group counters of length 39/],
        ["counters of half a bucket", reply(6, "0030" + "00".repeat(46)), /SHORT: group counters/],
        ["a meter shorter than its header", reply(10, "0007" + "00".repeat(6)), /meter of length 7, at least 8/],
        ["a meter without a band", reply(10, "0008000200000001"), /SHORT: meter/],
        [
            "a meter that remarks",
            reply(10, "0018000200000001" + "00020010" + "00".repeat(12)),
            /band of type 2 and length 16/,
        ],
        [
            "a meter with two bands",
            reply(10, "0028000200000001" + ("00010010" + "00".repeat(12)).repeat(2)),
            /LONG: meter: 16 bytes are left over/,
        ],
        ["a meter mod of an unknown command", failure(() => message(29, "0003000000000001")), /unknown command 3/],
    ])("%s", (_name, text, words) => {
        expect(text).toMatch(words);
    });
});
