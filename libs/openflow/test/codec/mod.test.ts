import { describe, expect, it } from "@jest/globals";
import {
    bucketKey,
    decodeMessage,
    type FlowMod,
    flowBodyKey,
    type Group,
    groupBodyKey,
    type GroupMod,
    type MeterMod,
    writeFlowMod,
    Writer,
} from "../../src/codec/index.ts";
import { writeBundleAdd } from "../../src/codec/message/bundle.ts";
import { writeGroupMod } from "../../src/codec/message/group-mod.ts";
import { writeMeterMod } from "../../src/codec/message/meter-mod.ts";
import {
    type FlowDescRequest,
    writeFlowDescRequest,
    writeGroupDescRequest,
    writeGroupStatsRequest,
    writeMeterConfigRequest,
} from "../../src/codec/message/multipart-request.ts";
import { writeBare, writeSetConfig, writeSetControllerId } from "../../src/codec/message/simple.ts";
import { hex } from "../fixtures.ts";

function written(write: (writer: Writer) => void): Uint8Array {
    const writer = new Writer();
    write(writer);
    return writer.finish();
}

function rejected(write: (writer: Writer) => void): string {
    try {
        written(write);
        return "was written";
    } catch (error) {
        const { code, fault, message } = error as { code?: unknown; fault?: unknown; message?: unknown };
        return `${String(fault)} ${String(code)}: ${String(message)}`;
    }
}

const range = (name: string, value: unknown, bits: number): string =>
    `caller BAD_VALUE: ${name}: ${String(value)} is no integer from 0 to ${2 ** bits - 1}`;
const flow = { table: 1, priority: 2, match: {}, actions: [] };
const group: Group = { id: 5, type: "select", buckets: [{ id: 1, actions: [] }] };

describe("flow mods (OpenFlow 1.5 section 7.3.4.2)", () => {
    it("have each member in its place, and are read back", () => {
        const mod: FlowMod = {
            command: "modify",
            flow: {
                table: 1,
                priority: 2,
                match: {},
                actions: [],
                idleTimeout: 3,
                hardTimeout: 4,
                cookie: 5n,
                importance: 6,
                sendFlowRemoved: true,
                clearActions: true,
                writeActions: [{ type: "dec_ttl" }],
                writeMetadata: { value: 7n, mask: 0xffn },
                gotoTable: 8,
            },
            cookieMask: 9n,
            outPort: 10,
            outGroup: 11,
            checkOverlap: true,
            resetCounts: true,
        };
        const bytes = written((writer) => writeFlowMod(writer, 1, mod));
        expect(hex(bytes)).toBe(
            (
                "060e0070 00000001 0000000000000005 0000000000000009 01 01 0003 0004 0002 ffffffff 0000000a 0000000b 0007 0006" +
                "0001 0004 00000000" +
                "0005 0008 00000000" +
                "0003 0010 00000000 0018 0008 00000000" +
                "0002 0018 00000000 0000000000000007 00000000000000ff" +
                "0001 0008 08 000000"
            ).replaceAll(" ", ""),
        );
        expect(decodeMessage(bytes)).toEqual({ xid: 1, type: "flow_mod", mod });
    });

    it.each<["sendFlowRemoved" | "checkOverlap" | "resetCounts", string]>([
        ["sendFlowRemoved", "0001"],
        ["checkOverlap", "0002"],
        ["resetCounts", "0004"],
    ])("flag %s is %s alone", (name, flag) => {
        const mod: FlowMod = {
            command: "add",
            flow: name === "sendFlowRemoved" ? { ...flow, sendFlowRemoved: true } : flow,
            ...(name === "sendFlowRemoved" ? {} : { [name]: true }),
        };
        const bytes = written((writer) => writeFlowMod(writer, 1, mod));
        expect(hex(bytes.subarray(44, 46))).toBe(flag);
        expect(decodeMessage(bytes)).toEqual({ xid: 1, type: "flow_mod", mod });
    });

    it.each<[string, Partial<FlowMod>]>([
        [range("outPort", -1, 32), { outPort: -1 }],
        [range("outGroup", 2 ** 32, 32), { outGroup: 2 ** 32 }],
        ["caller BAD_VALUE: cookieMask: -1 does not fit into 64 bits", { cookieMask: -1n }],
        [range("table", 256, 8), { flow: { ...flow, table: 256 } }],
        ["caller BAD_VALUE: table 254: tables are 0 to 253", { command: "delete", flow: { match: {}, table: 254 } }],
        ["caller BAD_VALUE: table 255: tables are 0 to 253", { command: "add", flow: { ...flow, table: 255 } }],
        ["was written", { command: "modify", flow: { ...flow, table: 255 } }],
    ])("%s", (rule, part) => {
        expect(rejected((writer) => writeFlowMod(writer, 1, { command: "add", flow, ...part }))).toBe(rule);
    });

    it("have at most 65535 bytes, their actions too", () => {
        const notes = (...lengths: readonly number[]): FlowMod => ({
            command: "add",
            flow: { ...flow, actions: lengths.map((length) => ({ type: "note", data: new Uint8Array(length) })) },
        });
        // 56 bytes of the message, 8 of the instruction, 10 of each note; all multiples of 8.
        const most = 65528 - 56 - 8 - 32768 - 10;
        expect(written((writer) => writeFlowMod(writer, 1, notes(32758, most))).length).toBe(65528);
        expect(rejected((writer) => writeFlowMod(writer, 1, notes(32758, most + 8)))).toBe(
            "caller TOO_BIG: the flow makes a message of 65536 bytes, at most 65535 fit; split it",
        );
        expect(rejected((writer) => writeFlowMod(writer, 1, notes(32758, 32758)))).toBe(
            "caller TOO_BIG: the actions have 65544 bytes, at most 65535 fit; use a group",
        );
        expect(() => writeFlowMod(new Writer(), 1, notes(32758, most + 8))).toThrow(
            expect.objectContaining({ details: { length: 65536 } }),
        );
        const bundle = { bundleId: 1, flags: 3 };
        expect(rejected((writer) => writeBundleAdd(writer, 1, bundle, notes(32758, most)))).toBe(
            "caller TOO_BIG: the change in its bundle makes a message of 65544 bytes, at most 65535 fit; split it",
        );
    });
});

describe("keys of what flows and groups do", () => {
    it.each([0, 1, 1023, 1024, 1025, 2048, 2049])("see the last of %i bytes more", (length) => {
        const note = (last: number): Parameters<typeof flowBodyKey>[0] => {
            const data = new Uint8Array(length + 1);
            data[length] = last;
            return { actions: [{ type: "note", data }] };
        };
        expect(flowBodyKey(note(1))).not.toBe(flowBodyKey(note(2)));
        expect(flowBodyKey(note(1))).toBe(flowBodyKey(note(1)));
    });

    it("name each number", () => {
        const times = [{ idleTimeout: 1 }, { hardTimeout: 1 }, { importance: 1 }, { sendFlowRemoved: true }];
        expect(new Set(times.map((time) => flowBodyKey({ actions: [], ...time }))).size).toBe(4);
        for (const name of ["idleTimeout", "hardTimeout", "importance"] as const) {
            const key = (value?: number): string =>
                flowBodyKey({ actions: [], ...(value === undefined ? {} : { [name]: value }) });
            expect(key(0)).toBe(key());
            expect(key(1)).not.toBe(key(2));
        }
        const { type, buckets } = group;
        expect(groupBodyKey({ type, buckets })).not.toBe(groupBodyKey({ type: "all", buckets }));
        // Which bytes are the selection's, and which the buckets'.
        expect(groupBodyKey({ type, buckets, selection: { method: "hash" } })).not.toBe(
            groupBodyKey({ type, buckets }),
        );
        expect(bucketKey({ id: 1, actions: [] }, "select")).not.toBe(bucketKey({ id: 1, actions: [] }, "all"));
    });
});

describe("group mods (section 7.3.4.3)", () => {
    it.each<[string, GroupMod, string]>([
        [
            "insert_bucket after another one",
            { command: "insert_bucket", group: { id: 5, type: "indirect", buckets: [] }, place: 7 },
            "0003 02 00 00000005 0000 0000 00000007",
        ],
        [
            "remove_bucket of all",
            { command: "remove_bucket", group: { id: 5 }, bucket: "all" },
            "0005 00 00 00000005 0000 0000 ffffffff",
        ],
        ["delete of all", { command: "delete", group: { id: "all" } }, "0002 00 00 fffffffc 0000 0000 ffffffff"],
        [
            "add with a bucket that watches both",
            {
                command: "add_or_modify",
                group: {
                    id: 5,
                    type: "fast_failover",
                    buckets: [{ id: 1, actions: [{ type: "dec_ttl" }], watchPort: 2, watchGroup: 3 }],
                },
            },
            "8000 03 00 00000005 0020 0000 ffffffff" +
                "0020 0008 00000001 0018000800000000 0001000800000002 0002000800000003",
        ],
        [
            "a weight beside none and one that is the default",
            {
                command: "modify",
                group: {
                    id: 5,
                    type: "select",
                    buckets: [
                        { id: 1, actions: [] },
                        { id: 2, actions: [], weight: 0 },
                    ],
                },
            },
            "0001 01 00 00000005 0020 0000 ffffffff" +
                "0010 0000 00000001 0000000800010000" +
                "0010 0000 00000002 0000000800000000",
        ],
        [
            "a weight of a group of all",
            { command: "add", group: { id: 5, type: "all", buckets: [{ id: 1, actions: [], weight: 2 }] } },
            "0000 00 00 00000005 0010 0000 ffffffff 0010 0000 00000001 0000000800020000",
        ],
        [
            "hash of bits of fields",
            {
                command: "add",
                group: {
                    id: 5,
                    type: "select",
                    buckets: [],
                    selection: {
                        method: "hash",
                        param: 2n ** 64n - 1n,
                        fields: [
                            { field: "metadata", mask: 1n },
                            { field: "ipv6_label", mask: 0xf },
                            { field: "vlan_pcp" },
                        ],
                    },
                },
            },
            "0000 01 00 00000005 0000 0000 ffffffff" +
                "ffff 0041 0000154d 00000001 00000000 68617368000000000000000000000000 ffffffffffffffff" +
                "80000e01 ff 80003804 0000000f 80000408 0000000000000001 00000000000000",
        ],
    ])("%s", (_name, mod, body) => {
        const bytes = written((writer) => writeGroupMod(writer, 1, mod));
        const text = body.replaceAll(" ", "");
        expect(hex(bytes.subarray(8))).toBe(text);
        expect(decodeMessage(bytes)).toMatchObject({ type: "group_mod", mod: sortedFields(mod) });
    });

    it.each<[string, Partial<Group>]>([
        [range("group.id", -1, 32), { id: -1 }],
        [range("bucket.id", 2 ** 32, 32), { buckets: [{ id: 2 ** 32, actions: [] }] }],
        [range("bucket.weight", 65536, 16), { buckets: [{ id: 1, weight: 65536, actions: [] }] }],
        [range("bucket.watchPort", -1, 32), { buckets: [{ id: 1, watchPort: -1, actions: [] }] }],
        [range("bucket.watchGroup", 0.5, 32), { buckets: [{ id: 1, watchGroup: 0.5, actions: [] }] }],
        [
            "caller BAD_VALUE: selection.param: -1 does not fit into 64 bits",
            { selection: { method: "dp_hash", param: -1n } },
        ],
        [
            "caller BAD_FIELD: selection: reg0 is given a second time",
            { selection: { method: "hash", fields: [{ field: "reg0" }, { field: "reg1" }, { field: "reg0" }] } },
        ],
        [
            "caller BAD_VALUE: selection: the mask of reg0 is 0, so it selects nothing",
            { selection: { method: "hash", fields: [{ field: "reg0", mask: 0 }] } },
        ],
        [
            "caller TOO_BIG: bucket 1 has 65536 bytes, at most 65535 fit into a message",
            { buckets: [{ id: 1, actions: [{ type: "note", data: new Uint8Array(65510) }] }] },
        ],
    ])("%s", (rule, part) => {
        expect(rejected((writer) => writeGroupMod(writer, 1, { command: "add", group: { ...group, ...part } }))).toBe(
            rule,
        );
    });

    it("name the bucket that does not fit, or the group", () => {
        const insert = (place: number): GroupMod => ({ command: "insert_bucket", group, place });
        expect(rejected((writer) => writeGroupMod(writer, 1, insert(-1)))).toBe(range("group mod bucket", -1, 32));
        const buckets = Array.from({ length: 4095 }, (_, id) => ({ id, actions: [] }));
        const add: GroupMod = { command: "add", group: { ...group, buckets } };
        expect(rejected((writer) => writeGroupMod(writer, 1, add))).toBe(
            "caller TOO_BIG: group 5 makes a message of 65544 bytes, at most 65535 fit; split it",
        );
    });

    /** The change with the fields of its selection in the order of the wire, which is the reverse of the test's. */
    function sortedFields(mod: GroupMod): unknown {
        if (!("selection" in mod.group) || mod.group.selection?.method !== "hash") return mod;
        const { fields = [] } = mod.group.selection;
        return { ...mod, group: { ...mod.group, selection: { ...mod.group.selection, fields: fields.toReversed() } } };
    }
});

describe("other messages", () => {
    it.each<[string, MeterMod]>([
        ["06 1d 0020 00000001 0000 0006 00000007 0001 0010 0000000a 00000014 00000000", meter(7, "packets", 10, 20)],
        ["06 1d 0020 00000001 0000 0001 00000007 0001 0010 0000000a 00000000 00000000", meter(7, "kilobits", 10)],
        ["06 1d 0010 00000001 0002 0000 ffffffff", { command: "delete", meter: { id: "all" } }],
    ])("%s", (bytes, mod) => {
        expect(hex(written((writer) => writeMeterMod(writer, 1, mod)))).toBe(bytes.replaceAll(" ", ""));
        expect(decodeMessage(written((writer) => writeMeterMod(writer, 1, mod)))).toEqual({
            xid: 1,
            type: "meter_mod",
            mod,
        });
    });

    function meter(id: number, unit: "packets" | "kilobits", rate: number, burst?: number): MeterMod {
        return { command: "add", meter: { id, unit, rate, ...(burst === undefined ? {} : { burst }) } };
    }

    it.each<[string, (writer: Writer) => void]>([
        [range("meter.id", -1, 32), (writer) => writeMeterMod(writer, 1, meter(-1, "packets", 1))],
        [range("meter.rate", 2 ** 32, 32), (writer) => writeMeterMod(writer, 1, meter(1, "packets", 2 ** 32))],
        [range("meter.burst", 0.5, 32), (writer) => writeMeterMod(writer, 1, meter(1, "packets", 1, 0.5))],
        [range("meter.id", -1, 32), (writer) => writeMeterMod(writer, 1, { command: "delete", meter: { id: -1 } })],
        [range("missSendLength", 65536, 16), (writer) => writeSetConfig(writer, 1, 65536)],
        [range("controllerId", 65536, 16), (writer) => writeSetControllerId(writer, 1, 65536)],
        [range("id", -1, 32), (writer) => writeGroupDescRequest(writer, 1, -1)],
        [range("id", -1, 32), (writer) => writeGroupStatsRequest(writer, 1, -1)],
        [range("id", -1, 32), (writer) => writeMeterConfigRequest(writer, 1, -1)],
        [
            "caller TOO_BIG: ECHO_REPLY makes a message of 65536 bytes, at most 65535 fit; split it",
            (writer) => writeBare(writer, "ECHO_REPLY", 1, new Uint8Array(65528)),
        ],
        ["was written", (writer) => writeBare(writer, "ECHO_REPLY", 1, new Uint8Array(65527))],
        ...requests([
            [range("table", 256, 8), { table: 256 }],
            [range("outPort", -1, 32), { outPort: -1 }],
            [range("outGroup", -1, 32), { outGroup: -1 }],
            ["caller BAD_VALUE: cookie: -1 does not fit into 64 bits", { cookie: -1n }],
            ["caller BAD_VALUE: cookieMask: -1 does not fit into 64 bits", { cookieMask: -1n }],
        ]),
    ])("%s", (rule, write) => {
        expect(rejected(write)).toBe(rule);
    });

    function requests(all: readonly [string, FlowDescRequest][]): [string, (writer: Writer) => void][] {
        return all.map(([rule, request]) => [rule, (writer) => writeFlowDescRequest(writer, 1, request)]);
    }

    it("a request for flows compares all bits of a cookie, or none", () => {
        const request = (part: FlowDescRequest): string =>
            hex(written((writer) => writeFlowDescRequest(writer, 1, part))).slice(16);
        const filter = "0001 0000 00000000 ff 000000 ffffffff ffffffff 00000000".replaceAll(" ", "");
        expect(request({})).toBe(`${filter}${"0".repeat(32)}0001000400000000`);
        expect(request({ cookie: 7n })).toBe(`${filter}0000000000000007${"f".repeat(16)}0001000400000000`);
        expect(request({ cookieMask: 7n })).toBe(`${filter}${"0".repeat(16)}00000000000000070001000400000000`);
        expect(request({ table: 1, outPort: 2, outGroup: 3 })).toContain("01000000" + "00000002" + "00000003");
    });

    it("a connection's id is in the last bytes of its message", () => {
        expect(hex(written((writer) => writeSetControllerId(writer, 1, 9)))).toBe(
            "0604001800000001" + "00002320" + "00000014" + "000000000000" + "0009",
        );
    });
});
