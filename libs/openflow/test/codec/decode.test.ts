import { describe, expect, it } from "@jest/globals";
import { decodeMessage, type Message } from "../../src/codec/index.ts";
import { bytes, messages } from "../fixtures.ts";

const word = (value: number): string => value.toString(16).padStart(4, "0");
const message = (type: number, body: string): Message =>
    decodeMessage(bytes(`06${type.toString(16).padStart(2, "0")}${word(8 + body.length / 2)}00000007${body}`));
const text = (words: string, length: number): string =>
    Buffer.from(words)
        .toString("hex")
        .padEnd(2 * length, "0");
const reply = (type: number, body: string, flags = 0): unknown =>
    message(19, `${word(type)}${word(flags)}00000000${body}`);

/** `ofp_port` of OpenFlow 1.5 section 7.2.1, with a property of 8 bytes. */
const port = (name: string): string =>
    `00000005 0030 0000 aabbccddee01 0000 ${text(name, 16)} 00000001 00000004 ffff000800000000`.replaceAll(" ", "");
const portRead = { port: 5, mac: bytes("aabbccddee01"), config: 1, state: 4 };
/** An `ofp_match` of in_port 3. */
const inPort = "0001000c8000000400000003" + "00000000";

describe("messages, as OpenFlow 1.5 section 7 has them", () => {
    it.each<[string, number, string, object]>([
        ["echo request", 2, "0102", { type: "echo_request", data: bytes("0102") }],
        ["echo reply", 3, "", { type: "echo_reply", data: bytes("") }],
        ["features request", 5, "", { type: "features_request" }],
        [
            "features reply",
            6,
            "0102030405060708" + "00000000" + "fe" + "010000" + "0000024f" + "00000000",
            { type: "features_reply", features: { datapathId: 0x0102030405060708n, tables: 254, capabilities: 0x24f } },
        ],
        ["barrier request", 20, "", { type: "barrier_request" }],
        ["barrier reply", 21, "", { type: "barrier_reply" }],
        [
            "role request",
            24,
            "00000003" + "0009" + "0000" + "0000000000000004",
            { type: "role_request", role: { role: "secondary", shortId: 9, generation: 4n } },
        ],
        [
            "role reply",
            25,
            "00000001" + "0000" + "0000" + "0000000000000000",
            { type: "role_reply", role: { role: "equal", shortId: 0, generation: 0n } },
        ],
        [
            "bundle control, with a property",
            33,
            "00000007" + "0005" + "0003" + "ffff000c0000000000000000",
            { type: "bundle_control", control: { bundleId: 7, control: 5, flags: 3 } },
        ],
        [
            "port status",
            12,
            `02${"0".repeat(14)}${port("veth5")}`,
            { type: "port_status", reason: 2, port: { ...portRead, name: "veth5" } },
        ],
        ["a type that is not read", 27, "0102", { type: "unknown", messageType: 27 }],
        [
            "an error",
            1,
            "0005" + "0001" + "0102",
            {
                type: "error",
                error: { errorType: 5, errorCode: 1, name: "OFPFMFC_TABLE_FULL", data: bytes("0102") },
            },
        ],
        [
            "a bundle with a barrier in it",
            34,
            "00000007" + "0000" + "0003" + "0614000800000007",
            { type: "bundle_add", bundleId: 7, flags: 3, message: { xid: 7, type: "barrier_request" } },
        ],
    ])("%s", (_name, type, body, expected) => {
        expect(message(type, body)).toEqual({ xid: 7, ...expected });
    });

    it.each([
        ["features request", 5, ""],
        ["features reply", 6, "00".repeat(24)],
        ["barrier request", 20, ""],
        ["barrier reply", 21, ""],
        ["role request", 24, "00".repeat(16)],
        ["role reply", 25, "00".repeat(16)],
        ["port status", 12, `00${"0".repeat(14)}${port("x")}`],
        ["delete of a meter", 29, "0002000000000001"],
        ["flow removed", 11, "0000000100000000" + "0".repeat(16) + "0001000400000000" + "8002000400000000"],
    ])("%s: bytes after its end are refused", (_name, type, body) => {
        expect(message(type, body)).toBeDefined();
        expect(() => message(type, `${body}00`)).toThrow(
            expect.objectContaining({ code: "LONG", message: "message: 1 bytes are left over after its end" }),
        );
    });

    it.each([
        [0, "no_change"],
        [1, "equal"],
        [2, "primary"],
        [3, "secondary"],
    ])("role %i is %s", (code, role) => {
        expect(message(25, `0000000${code}${"00".repeat(12)}`)).toMatchObject({ role: { role } });
    });
});

describe("replies of several parts (section 7.3.5)", () => {
    it("ports, of which more follow", () => {
        const name = "sixteen-letters!";
        expect(reply(13, port("veth5") + port(name), 1)).toMatchObject({
            reply: {
                more: true,
                kind: "ports",
                ports: [
                    { ...portRead, name: "veth5" },
                    { ...portRead, name },
                ],
            },
        });
        expect(reply(13, "", 2)).toMatchObject({ reply: { more: false, kind: "ports", ports: [] } });
    });

    /** `ofp_flow_desc` with these counters and instructions. */
    const flow = (stats: string, instructions = ""): string => {
        const body =
            "0000" +
            "05" +
            "00" +
            "00c8" +
            "003c" +
            "012c" +
            "0001" +
            "0009" +
            "0000000000000077" +
            inPort +
            stats +
            instructions;
        return word(2 + body.length / 2) + body;
    };
    /** `ofp_stats` of section 7.2.4.1. */
    const stats = (...fields: readonly string[]): string => {
        const all = fields.join("");
        return `0000${word(4 + all.length / 2)}${all}`.padEnd(2 * Math.ceil((4 + all.length / 2) / 8) * 8, "0");
    };

    it("flows, with all that they can have", () => {
        const counters = stats(
            "80020008" + "00000003" + "1dcd6500",
            "80020208" + "00000002" + "0ee6b280",
            "80020808" + "0000000000000011",
            "80020a08" + "0000000000000022",
        );
        expect(reply(1, flow(counters, "0001000806000000"))).toMatchObject({
            reply: {
                more: false,
                kind: "flows",
                flows: [
                    {
                        table: 5,
                        priority: 200,
                        match: { in_port: 3 },
                        idleTimeout: 60,
                        hardTimeout: 300,
                        sendFlowRemoved: true,
                        importance: 9,
                        actions: [],
                        gotoTable: 6,
                        cookie: 0x77n,
                        packets: 0x11n,
                        bytes: 0x22n,
                        durationSeconds: 3.5,
                        idleSeconds: 2.25,
                    },
                ],
            },
        });
    });

    it("flows without counters, and with those of another class", () => {
        const others = stats("80030008" + "00000003" + "1dcd6500", "80020608" + "0000000000000001");
        for (const counters of [stats(), others]) {
            const { reply: found } = reply(1, flow(counters)) as Extract<Message, { type: "multipart_reply" }>;
            const [only] = found.kind === "flows" ? found.flows : [];
            expect(only).toMatchObject({ durationSeconds: 0, packets: 0n, bytes: 0n });
            expect(Object.keys(only ?? {})).not.toContain("idleSeconds");
            expect(Object.keys(only ?? {})).not.toContain("opaqueMatch");
        }
        expect(() => reply(1, flow("0000000300000000"))).toThrow(/flow counters of length 3, at least 4/);
    });

    it("flows with a field that nobody knows: its bytes are kept", () => {
        const match = "0001000d" + "8000fe01" + "07" + "8000fc00" + "000000";
        const body = `00000500${"0005".padEnd(20, "0")}${"0".repeat(16)}${match}${stats()}`;
        expect(reply(1, word(2 + body.length / 2) + body)).toMatchObject({
            reply: { flows: [{ match: {}, opaqueMatch: bytes("8000fe01078000fc00") }] },
        });
    });

    it("sums of counters", () => {
        const counters = stats(
            "80020604" + "00000005",
            "80020808" + "0000000000000011",
            "80020a08" + "0000000000000022",
        );
        expect(reply(2, counters)).toMatchObject({
            reply: { kind: "totals", totals: { flows: 5, packets: 0x11n, bytes: 0x22n } },
        });
        expect(reply(2, stats())).toMatchObject({
            reply: { kind: "totals", totals: { flows: 0, packets: 0n, bytes: 0n } },
        });
    });

    it("counters of a group", () => {
        const numbers = [7, 0x11, 0x22].map((value) => value.toString(16).padStart(16, "0"));
        const body = `0000 00000005 00000003 00000000 ${numbers[1]} ${numbers[2]} 00000003 1dcd6500 ${numbers[0]} ${numbers[1]}`;
        expect(reply(6, `0038${body.replaceAll(" ", "")}`)).toMatchObject({
            reply: {
                kind: "group_counters",
                counters: [
                    {
                        id: 5,
                        references: 3,
                        packets: 0x11n,
                        bytes: 0x22n,
                        durationSeconds: 3.5,
                        buckets: [{ packets: 7n, bytes: 0x11n }],
                    },
                ],
            },
        });
    });

    it("meters, in either unit, with and without burst", () => {
        const meter = (flags: string, burst: string): string =>
            `0018${flags}00000007${"00010010"}000001f4${burst}00000000`;
        expect(reply(10, meter("0002", "00000000") + meter("0005", "00000064"))).toMatchObject({
            reply: {
                kind: "meters",
                meters: [
                    { id: 7, unit: "packets", rate: 500 },
                    { id: 7, unit: "kilobits", rate: 500, burst: 100 },
                ],
            },
        });
        expect(() => reply(10, meter("0002", "00000000").replace("00010010", "00010018"))).toThrow(
            /band of type 1 and length 24/,
        );
    });
});

describe("what ovs-vswitchd sends of packets and flows", () => {
    const captured = (type: number): readonly Message[] =>
        messages
            .filter(
                ({ name, from, hex }) =>
                    name === "monitor" && from === "switch" && hex.startsWith(`06${word(type).slice(2)}`),
            )
            .map(({ hex }) => decodeMessage(bytes(hex)));

    it("packet-ins have their frame, metadata and userdata", () => {
        const frame = bytes("ffffffffffffaabbccddeeff08060001080006040001aabbccddeeff0a0a00010000000000000a0a0002");
        expect(captured(4)).toEqual([
            {
                xid: 0,
                type: "packet_in",
                packet: {
                    data: frame,
                    totalLength: 42,
                    // The packet came by a packet-out, which is of no table.
                    table: 0,
                    cookie: 0n,
                    reason: 0,
                    metadata: { in_port: 1, tun_id: 7n, reg1: 5 },
                    userdata: bytes("0207"),
                },
            },
            expect.objectContaining({ packet: expect.objectContaining({ metadata: { in_port: 1 } }) }),
        ]);
    });

    it("packet-ins have the table, cookie and reason of the flow (NXT_PACKET_IN2 of nicira-ext.h)", () => {
        const properties = [
            "0003 0005 09 000000",
            "0004 0010 00000000 0000000000000078",
            "0005 0005 02 000000",
            "0001 0008 000005dc",
            "0002 0008 00000001",
            "0000 0006 0102 0000",
        ];
        const body = `00002320 0000001e ${properties.join("")}`.replaceAll(" ", "");
        const packet = { data: bytes("0102"), totalLength: 1500, table: 9, cookie: 0x78n, reason: 2, metadata: {} };
        expect(message(4, body)).toEqual({ xid: 7, type: "packet_in", packet });
        // Without the padding of the last one, too.
        expect(message(4, body.slice(0, -4))).toEqual({ xid: 7, type: "packet_in", packet });
    });

    it("errors name the property that is cut short", () => {
        expect(() => message(4, "000023200000001e" + "000100060001")).toThrow(
            expect.objectContaining({
                code: "SHORT",
                message: "packet-in property 1: 4 bytes needed at offset 0, 2 left",
            }),
        );
        const controller = "ffff0018" + "00002320" + "0025000000000000" + "00010006" + "00010000";
        const body = "ffffffff" + word(controller.length / 2) + "0000" + inPort + controller;
        expect(() => message(13, body)).toThrow(
            expect.objectContaining({
                code: "SHORT",
                message: "controller property: 4 bytes needed at offset 0, 2 left",
            }),
        );
    });

    it("a flow that was removed has its counters and times", () => {
        expect(captured(11)).toEqual([
            {
                xid: 0,
                type: "flow_removed",
                removed: {
                    table: 1,
                    priority: 32768,
                    cookie: 0x78n,
                    reason: "delete",
                    match: {},
                    durationSeconds: expect.closeTo(0.619, 2),
                    packets: 2n,
                    bytes: 84n,
                },
            },
        ]);
    });

    it.each([
        [0, "idle_timeout"],
        [1, "hard_timeout"],
        [2, "delete"],
        [3, "group_delete"],
        [4, "meter_delete"],
        [5, "eviction"],
    ])("reason %i of a removal is %s (section 7.4.2)", (code, reason) => {
        const body = `05${word(code).slice(2)}00c8${"00000000"}${"0".repeat(15)}7${inPort}8002000400000000`;
        expect(message(11, body)).toMatchObject({
            removed: { table: 5, priority: 200, cookie: 7n, reason, match: { in_port: 3 }, packets: 0n, bytes: 0n },
        });
        expect(() => message(11, body.replace(/^..../, "0506"))).toThrow(/flow removed: unknown reason 6/);
    });
});
