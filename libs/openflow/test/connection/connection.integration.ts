import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import {
    decodeMessage,
    flowBodyKey,
    flowKey,
    formatFlow,
    Port,
    type Flow,
    type FlowMod,
    type PacketIn,
} from "../../src/codec/index.ts";
import { OpenFlowConnection } from "../../src/connection/index.ts";
import { PrivateOvs } from "../../src/testing/index.ts";
import { bytes, flowMods } from "../fixtures.ts";
import { silent } from "./peer.ts";

const arp = bytes("ffffffffffffaabbccddeeff08060001080006040001aabbccddeeff0a0a00010000000000000a0a0002");
const add = (flow: Flow): FlowMod => ({ command: "add", flow });
const keys = (flows: readonly Flow[]): string[] =>
    flows.map((flow) => `${flowKey(flow)} ${flowBodyKey(flow)} ${flow.cookie ?? 0n}`).sort();

/** Every captured flow that a switch without groups and meters accepts. */
const table: readonly Flow[] = flowMods
    .filter(({ flow }) => !/group:|meter|ct_ipv6_src/.test(flow))
    .map(({ hex }) => {
        const message = decodeMessage(bytes(hex));
        if (message.type !== "flow_mod") throw new Error(`a ${message.type}`);
        return { table: 0, priority: 0, actions: [], ...message.mod.flow };
    });

describe("OpenFlowConnection with ovs-vswitchd", () => {
    let ovs: PrivateOvs;
    let bridge: string;
    let connection: OpenFlowConnection;

    beforeAll(async () => {
        ovs = await PrivateOvs.start({ network: "own" });
        bridge = PrivateOvs.deviceName("of");
        await ovs.addBridge(bridge);
        await ovs.addPort(bridge, PrivateOvs.deviceName("of"), { ofport: 7 });
        connection = new OpenFlowConnection(
            { logger: silent },
            { socketPath: ovs.mgmtSocket(bridge), minBackoffMs: 10 },
        );
        connection.start(new AbortController().signal);
    });

    afterAll(async () => {
        await connection.close();
        await ovs[Symbol.asyncDispose]();
    });

    beforeEach(() => connection.bundle([{ command: "delete", flow: { match: {} } }]));

    it("loads a table of flows in one bundle and reads them back equal", async () => {
        expect(table.length).toBeGreaterThan(40);
        await connection.bundle(table.map(add));
        const flows = await connection.dumpFlows();
        expect(keys(flows)).toEqual(keys(table));
        // Modified in place: the same flows with another cookie.
        await connection.bundle(table.map((flow) => add({ ...flow, cookie: 0x99n })));
        expect((await connection.dumpFlows({ cookie: 0x99n })).length).toBe(table.length);
        expect(await connection.dumpFlows({ cookie: 0x98n })).toEqual([]);
        await connection.bundle([{ command: "delete", flow: { match: {} } }]);
        expect(await connection.dumpFlows()).toEqual([]);
    });

    it("reads with filters", async () => {
        await connection.bundle(table.map(add));
        const inTable = await connection.dumpFlows({ table: 4 });
        expect(keys(inTable)).toEqual(keys(table.filter((flow) => flow.table === 4)));
        const arps = await connection.dumpFlows({ table: 0, match: { eth_type: 0x0806 } });
        expect(arps.map(formatFlow)).toEqual(["table=0,priority=200,arp,actions=goto_table:10"]);
        expect((await connection.dumpFlows({ outPort: 32770 })).map(({ table }) => table)).toEqual([15]);
    });

    it("counts what a dump with the same filter gives", async () => {
        await connection.bundle(table.map((flow) => add({ ...flow, cookie: 0x99n })));
        for (const filter of [{}, { table: 4 }, { cookie: 0x98n }, { table: 0, cookie: 0x90n, cookieMask: 0xf0n }]) {
            const dumped = await connection.dumpFlows(filter);
            expect(await connection.countFlows(filter)).toEqual({ flows: dumped.length, packets: 0n, bytes: 0n });
        }
        expect((await connection.countFlows()).flows).toBe(table.length);
    });

    it("deletes by cookie and strictly", async () => {
        const flow = (priority: number, cookie: bigint): Flow => ({
            table: 1,
            priority,
            cookie,
            match: {},
            actions: [],
        });
        await connection.bundle([add(flow(1, 0x11n)), add(flow(2, 0x12n)), add(flow(3, 0x21n))]);
        await connection.bundle([
            { command: "delete", flow: { match: {}, cookie: 0x10n }, cookieMask: 0xf0n },
            add(flow(4, 0x31n)),
            { command: "delete_strict", flow: { table: 1, priority: 3, match: {} } },
        ]);
        expect((await connection.dumpFlows()).map(({ priority }) => priority)).toEqual([4]);
    });

    it.each<[string, Flow, RegExp]>([
        [
            "a group that is not there",
            { table: 1, priority: 2, match: {}, actions: [{ type: "group", group: 99 }] },
            /change 1, add table=1,priority=2,actions=group:99: the switch refused it with OFPBAC_BAD_OUT_GROUP/,
        ],
        [
            "a meter that is not there",
            { table: 1, priority: 2, match: {}, actions: [{ type: "meter", meter: 99 }] },
            /change 1, add table=1,priority=2,actions=meter:99: the switch refused it with OFP/,
        ],
        [
            "a prerequisite that is missing",
            { table: 1, priority: 2, match: { ipv4_src: 1 }, actions: [] },
            /change 1, .* match: ipv4_src needs eth_type 0x0800/,
        ],
    ])("refuses a bundle with %s whole and names the flow", async (_, bad, message) => {
        const good = (priority: number): FlowMod => add({ table: 1, priority, match: {}, actions: [] });
        await expect(connection.bundle([good(1), add(bad), good(3)])).rejects.toThrow(message);
        expect(await connection.dumpFlows()).toEqual([]);
    });

    it("does 500 bundles without waiting between them, in order", async () => {
        const flows = Array.from({ length: 500 }, (_, index) => ({
            table: 1,
            priority: 7,
            match: { reg0: index },
            actions: [{ type: "set_field", field: "reg1", value: index }] as const,
        }));
        await Promise.all(flows.map((flow) => connection.bundle([add(flow)])));
        expect((await connection.dumpFlows()).length).toBe(500);
        // The same flow changed repeatedly: the last bundle determines it.
        const change = (value: number): FlowMod =>
            add({ table: 2, priority: 1, match: {}, actions: [{ type: "set_field", field: "reg1", value }] });
        const changes = Array.from({ length: 100 }, (_, value) => connection.bundle([change(value)]));
        const [bad] = await Promise.allSettled([
            connection.bundle([add({ table: 3, priority: 1, match: {}, actions: [{ type: "group", group: 9 }] })]),
            ...changes,
        ]);
        expect(bad).toMatchObject({ status: "rejected", reason: { code: "REFUSED" } });
        const [last] = await connection.dumpFlows({ table: 2 });
        expect(last?.actions).toEqual([{ type: "set_field", field: "reg1", value: 99 }]);
    });

    it("sends a packet out and gets it back with metadata and userdata", async () => {
        const seen = Promise.withResolvers<PacketIn>();
        using _listener = connection.onPacketIn((packet) => seen.resolve(packet));
        await connection.bundle([
            add({
                table: 0,
                priority: 1,
                match: {},
                actions: [{ type: "set_field", field: "reg3", value: 9 }],
                gotoTable: 5,
            }),
            add({
                table: 5,
                priority: 1,
                cookie: 0xabcn,
                match: { eth_type: 0x0806 },
                actions: [{ type: "controller", userdata: Uint8Array.of(1, 2, 3) }],
            }),
        ]);
        connection.packetOut({ inPort: 7, data: arp, actions: [{ type: "resubmit", table: 0 }] });
        expect(await seen.promise).toEqual({
            data: arp,
            totalLength: 42,
            table: 5,
            cookie: 0xabcn,
            reason: 1,
            metadata: { in_port: 7, reg3: 9 },
            userdata: Uint8Array.of(1, 2, 3),
        });
        expect((await connection.dumpFlows({ table: 5 }))[0]).toMatchObject({ packets: 1n, bytes: 42n });
    });

    it("lists the ports", async () => {
        const ports = await connection.ports();
        expect(new Set(ports.map(({ port }) => port))).toEqual(new Set([7, Port.LOCAL]));
    });

    it("replays after ovs-vswitchd was killed, before anybody else gets through", async () => {
        const order: string[] = [];
        using _replay = connection.onReady(async (link) => {
            await link.bundle([{ command: "delete", flow: { match: {} } }, ...table.map(add)]);
            order.push("replay");
        });
        await connection.bundle(table.map(add));
        const inFlight = connection.barrier().then(
            () => "answered",
            (error: { readonly retryable: boolean }) => (error.retryable ? "retryable" : "not retryable"),
        );
        await ovs.killVswitchd();
        expect(["answered", "retryable"]).toContain(await inFlight);
        // The end may be noticed after the answer: a request in between ends with the connection.
        while (connection.state.kind === "ready") await sleep(5);
        const other = connection.dumpFlows({}, { timeoutMs: 20_000 }).then((flows) => {
            order.push("other");
            return flows;
        });
        await ovs.startVswitchd();
        expect(keys(await other)).toEqual(keys(table));
        expect(order).toEqual(["replay", "other"]);
    });

    it("loads 15,000 flows in one bundle", async () => {
        const flows = Array.from({ length: 15_000 }, (_, index) =>
            add({ table: 1, priority: 100, match: { eth_type: 0x0800, ipv4_src: index }, actions: [], gotoTable: 2 }),
        );
        await connection.bundle(flows);
        expect((await connection.dumpFlows({ table: 1 })).length).toBe(15_000);
    });
});
