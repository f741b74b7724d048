import { beforeEach, describe, expect, it } from "@jest/globals";
import {
    bridgedPeerFlows,
    bridgingParts,
    bridgingTables,
    Category,
    cookieOf,
    nodeParts,
    nodeTables,
    OfPort,
    Pipeline,
    Table,
    tunnelPeerFlows,
    withCookies,
    type FlowSet,
} from "@antrea/flows";
import { parseIp, parseMac, parsePrefix } from "@antrea/ip";
import { flowKey, type Flow } from "@antrea/openflow";
import { EarlierFlows, FlowTable } from "../../../../src/platform/ovs/flow-table/index.ts";
import { silentLogger } from "../../../support/logger.ts";
import { FakeSwitch } from "./fake-switch.ts";

const gatewayMac = parseMac("0e:00:00:00:00:01");
const hostMac = parseMac("52:54:00:00:00:01");
const [before, now] = [2, 3];
const next = new Pipeline([...nodeTables, ...bridgingTables]);

function pipeline(...serviceCidrs: readonly string[]): readonly FlowSet[] {
    const input = {
        families: [4] as const,
        gateway: { ofPort: OfPort.gateway, mac: gatewayMac, ips: [parseIp("10.10.0.1")] },
        podPrefixes: [parsePrefix("10.10.0.0/24")],
        forgetsConnections: true,
        bridging: {
            uplink: { ofPort: OfPort.uplink },
            host: { ofPort: OfPort.host, mac: hostMac, ips: [parseIp("172.18.0.100")] },
            serviceCidrs: serviceCidrs.map((cidr) => parsePrefix(cidr)),
        },
    };
    return next.flows([...nodeParts(input), ...bridgingParts(input)]);
}

const podPrefixes = [parsePrefix("10.10.1.0/24")];
const peer = bridgedPeerFlows(next, { podPrefixes, mac: parseMac("52:54:00:00:00:02") });
const tunnel = tunnelPeerFlows(next, { podPrefixes, remote: parseIp("192.0.2.11"), gatewayMac });

let ovs: FakeSwitch;
let flowTable: FlowTable;
let known: boolean;
let forgotten: number;
let earlier: EarlierFlows;

beforeEach(async () => {
    ovs = new FakeSwitch();
    // The agent before knew the cluster; this one begins with what its configuration has.
    putEarlier(1);
    ovs.put({ table: 0, priority: 1, match: { in_port: 7 }, actions: [], cookie: BigInt(before) << 48n });
    flowTable = new FlowTable({ link: ovs, logger: silentLogger });
    flowTable.useRound(now);
    for (const { owner, flows } of owned("10.96.0.0/12")) flowTable.stage(owner, flows);
    await flowTable.replay(ovs.direct);
    [known, forgotten] = [false, 0];
    earlier = new EarlierFlows(
        {
            flowTable,
            learned: async () => {
                if (known) await flowTable.apply(owned("10.96.0.0/16", "10.98.0.0/16"));
                return known;
            },
            forgotten: async () => void (forgotten += 1),
        },
        { rounds: [before] },
    );
});

/** What the agent before has put into OVS. */
function putEarlier(objectId: number): void {
    for (const set of [...pipeline("10.96.0.0/16", "10.97.0.0/16"), peer, tunnel]) {
        for (const flow of withCookies(set, before, objectId)) ovs.put(flow);
    }
}

function owned(...serviceCidrs: readonly string[]): readonly { readonly owner: string; readonly flows: FlowSet }[] {
    return pipeline(...serviceCidrs).map((flows) => ({ owner: `pipeline/${flows.category}`, flows }));
}

/** The flows in OVS of the agent before. */
function left(): readonly Flow[] {
    return ovs.flows.filter(({ cookie }) => cookieOf(cookie ?? 0n).round === before);
}

describe("flows of an earlier agent", () => {
    const limit = new AbortController().signal;

    it("to Services and other Nodes stay while the API server is away, whatever comes and goes", async () => {
        await earlier.deleteOwn(limit);
        // Two ranges of Services, the bridged way and the tunnel to another Node.
        expect(left()).toHaveLength(4);
        await earlier.deleteLearned(limit);
        await flowTable.repair();
        await flowTable.replay(ovs.direct);
        expect(left()).toHaveLength(4);
        expect(forgotten).toBe(0);
    });

    it("keep the mark that they are all as long as they stay", async () => {
        const marks = (): number =>
            left().filter(({ cookie }) => cookieOf(cookie ?? 0n).category === Category.servicesComplete).length;
        const mark = { table: Table.ServiceLb, priority: 1, match: {}, actions: [] };
        for (const flow of withCookies({ category: Category.servicesComplete, flows: [mark] }, before, 1))
            ovs.put(flow);
        await earlier.deleteOwn(limit);
        expect(marks()).toBe(1);
        known = true;
        await earlier.deleteLearned(limit);
        expect(marks()).toBe(0);
    });

    it("go when all that is in their place has come, once", async () => {
        await earlier.deleteOwn(limit);
        await flowTable.set("peer/a", peer);
        known = true;
        await earlier.deleteLearned(limit);
        await earlier.deleteLearned(limit);
        expect(left()).toEqual([]);
        expect(forgotten).toBe(1);
        expect(ovs.flows).toHaveLength(flowTable.size);
    });

    it("of the release before, whose cookies hold less, leave OVS no moment without what only the API server knows", async () => {
        // As it wrote them: no object id, the ranges of Services in the pipeline, other Nodes among the Pods.
        const former = [...pipeline("10.96.0.0/16", "10.97.0.0/16"), peer, tunnel].flatMap((set) =>
            withCookies(
                {
                    category: set.category === Category.nodeConnectivity ? Category.podConnectivity : Category.default,
                    flows: set.flows,
                },
                before,
            ),
        );
        const gone = { table: Table.L2Forwarding, priority: 200, match: { eth_dst: 9n }, actions: [] };
        ovs.clear();
        for (const flow of [...former, { ...gone, cookie: BigInt(before) << 48n }]) ovs.put(flow);
        await flowTable.replay(ovs.direct);
        await earlier.deleteOwn(limit);
        const learned = [...pipeline("10.96.0.0/16", "10.97.0.0/16").slice(1), peer, tunnel].flatMap(
            (set) => set.flows,
        );
        const kept = new Set(left().map((flow) => flowKey(flow)));
        expect(learned.map((flow) => kept.has(flowKey(flow)))).toEqual(learned.map(() => true));
        expect(kept.size).toBe(4);
        await flowTable.set("peer/a", peer);
        known = true;
        await earlier.deleteLearned(limit);
        expect(left()).toEqual([]);
        expect(ovs.flows).toHaveLength(flowTable.size);
    });

    it.each([[[before]], [[]]])(
        "are not waited for any longer when the agent ends while OVS is away: rounds %j",
        async (rounds) => {
            const ofRounds = new EarlierFlows(
                { flowTable, learned: () => Promise.resolve(true), forgotten: async () => void (forgotten += 1) },
                { rounds },
            );
            const deletions = [
                (signal: AbortSignal) => ofRounds.deleteOwn(signal),
                (signal: AbortSignal) => ofRounds.deleteLearned(signal),
            ];
            const there = left().length;
            ovs.disconnect();
            for (const deletion of deletions) {
                const stop = new AbortController();
                const deleting = deletion(stop.signal);
                stop.abort();
                await expect(deleting).rejects.toMatchObject({ code: "ABORTED" });
            }
            expect([left().length, forgotten]).toEqual([there, 0]);
        },
    );

    it("found in a dump stay when the agent ends before they are deleted", async () => {
        const stop = new AbortController();
        const there = left().length;
        ovs.onDumped = () => stop.abort();
        await expect(earlier.deleteOwn(stop.signal)).rejects.toMatchObject({ code: "ABORTED" });
        expect(left()).toHaveLength(there);
    });
});
