import { describe, expect, it } from "@jest/globals";
import { decodeMessage, Writer, type Message } from "../../src/codec/index.ts";
import { bytes, hex, messages } from "../fixtures.ts";
import { writeBundleAdd, writeBundleControl } from "../../src/codec/message/bundle.ts";
import { writeHello } from "../../src/codec/message/hello.ts";
import {
    writeAggregateRequest,
    writeFlowDescRequest,
    writePortDescRequest,
} from "../../src/codec/message/multipart-request.ts";
import { writePacketOut } from "../../src/codec/message/packet.ts";
import { readRole } from "../../src/codec/message/role.ts";
import { writeBare, writeSetConfig, writeSetPacketInFormat } from "../../src/codec/message/simple.ts";
import { Reader } from "../../src/codec/wire/reader.ts";

function captured(name: string, from: "ofctl" | "switch", type: string): Message[] {
    const all = messages.filter((message) => message.name === name && message.from === from);
    return all.map((message) => decodeMessage(bytes(message.hex))).filter((message) => message.type === type);
}

function encoded(write: (writer: Writer) => void): string {
    const writer = new Writer();
    write(writer);
    return hex(writer.finish());
}

function sent(name: string, type: number): string[] {
    const all = messages.filter((message) => message.name === name && message.from === "ofctl");
    return all.map((message) => message.hex).filter((text) => Number.parseInt(text.slice(2, 4), 16) === type);
}

describe("messages of ovs-vswitchd", () => {
    it("hello, features, ports", () => {
        expect(captured("hello", "switch", "hello")).toEqual([expect.objectContaining({ versions: [6] })]);
        const [features] = captured("show", "switch", "features_reply");
        expect(features).toMatchObject({ features: { tables: 254, capabilities: 0x24f } });
        const [ports] = captured("show", "switch", "multipart_reply");
        expect(ports).toMatchObject({
            reply: {
                more: false,
                kind: "ports",
                ports: [
                    { port: 0xfffffffe, name: expect.stringMatching(/^cap-/), config: 1, state: 1 },
                    { port: 1, name: expect.stringMatching(/^cap-/) },
                ],
            },
        });
    });

    it("errors of a bundle: the flow by its xid, then the commit", () => {
        expect(captured("bad-bundle", "switch", "error")).toEqual([
            expect.objectContaining({ xid: 7, error: expect.objectContaining({ name: "OFPBAC_BAD_OUT_GROUP" }) }),
            expect.objectContaining({ xid: 10, error: expect.objectContaining({ name: "OFPBFC_MSG_FAILED" }) }),
        ]);
    });

    it("a dump of flows with counters", () => {
        const [message] = captured("dump", "switch", "multipart_reply");
        const reply = message?.type === "multipart_reply" ? message.reply : undefined;
        const flows = reply?.kind === "flows" ? reply.flows : [];
        expect(flows.length).toBeGreaterThan(40);
        expect(flows[0]).toMatchObject({
            table: 0,
            priority: 200,
            match: { eth_type: 0x0806 },
            actions: [],
            gotoTable: 10,
            cookie: 0n,
            packets: 0n,
            bytes: 0n,
        });
        expect(flows[0]?.durationSeconds).toBeGreaterThan(0);
    });

    it("a count of flows with their counters together", () => {
        const [message] = captured("aggregate", "switch", "multipart_reply");
        expect(message).toMatchObject({
            reply: { more: false, kind: "totals", totals: { flows: 5, packets: 0n, bytes: 0n } },
        });
    });

    it("packet-in with its metadata and userdata", () => {
        const [message] = captured("monitor", "switch", "packet_in");
        expect(message?.type === "packet_in" && message.packet).toMatchObject({
            totalLength: 42,
            metadata: { in_port: 1, tun_id: 7n, reg1: 5 },
            userdata: Uint8Array.of(2, 7),
        });
    });

    it("flow removed", () => {
        expect(captured("monitor", "switch", "flow_removed")).toEqual([
            expect.objectContaining({
                removed: expect.objectContaining({
                    table: 1,
                    cookie: 0x78n,
                    reason: "delete",
                    packets: 2n,
                    bytes: 84n,
                }),
            }),
        ]);
    });
});

describe("what is sent has the bytes of ovs-ofctl", () => {
    const arp = {
        command: "add",
        flow: { table: 0, priority: 200, match: { eth_type: 0x0806 }, actions: [], gotoTable: 10 },
    } as const;

    it.each<[string, string, number, (writer: Writer) => void]>([
        ["hello", "hello", 0, (writer) => writeHello(writer, 1)],
        ["echo", "probe", 2, (writer) => writeBare(writer, "ECHO_REQUEST", 0)],
        ["features request", "show", 5, (writer) => writeBare(writer, "FEATURES_REQUEST", 2)],
        ["port request", "show", 18, (writer) => writePortDescRequest(writer, 3)],
        ["set config", "monitor", 9, (writer) => writeSetConfig(writer, 3, 0xffff)],
        ["packet-in format", "monitor", 4, (writer) => writeSetPacketInFormat(writer, 5)],
        ["bundle open", "bundle", 33, (writer) => writeBundleControl(writer, 9, { bundleId: 0, control: 0, flags: 3 })],
        ["bundle add", "bundle", 34, (writer) => writeBundleAdd(writer, 6, { bundleId: 0, flags: 3 }, arp)],
        [
            "dump with a filter",
            "dump-filter",
            18,
            (writer) =>
                writeFlowDescRequest(writer, 6, {
                    table: 3,
                    cookie: 0n,
                    cookieMask: 0xffn,
                    match: { in_port: 5 },
                    outPort: 3,
                }),
        ],
        [
            "count with a filter",
            "aggregate",
            18,
            (writer) => writeAggregateRequest(writer, 6, { table: 3, cookie: 0n, cookieMask: 0xffn }),
        ],
        [
            "packet-out",
            "packet-out",
            13,
            (writer) =>
                writePacketOut(writer, 6, {
                    inPort: 0xfffffffd,
                    actions: [
                        { type: "set_field", field: "reg0", value: 1 },
                        { type: "resubmit", table: 0 },
                    ],
                    data: bytes("ffffffffffffaabbccddeeff08060001080006040001aabbccddeeff0a0a00010000000000000a0a0002"),
                }),
        ],
    ])("%s", (_, name, type, write) => {
        expect(encoded(write)).toBe(sent(name, type)[0]);
    });

    it("role: read", () => {
        // ofp_role_request without its header: role, short_id, padding, generation_id.
        const body = bytes("00000002" + "0003" + "0000" + "0000000000000009");
        expect(readRole(new Reader(body, "role"))).toEqual({ role: "primary", shortId: 3, generation: 9n });
    });
});
