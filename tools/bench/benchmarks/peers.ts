import { setTimeout as sleep } from "node:timers/promises";
import { type ApiClient } from "@antrea/kube";
import { type TestApiServer } from "@antrea/kube/testing";
import { startChartServer } from "@antrea/chart/testing/chart-server";
import { BareWatch } from "../peers/bare-watch.ts";
import { bridge, ownNode, ownPodCidrs, PeerNode, type Mode } from "../peers/peer-node.ts";
import { createPeers, move, ownAddresses, peerAt, type SimulatedPeer } from "../peers/simulated-peers.ts";
import { Writes, type Write } from "../peers/writes.ts";
import { comparison, fact, figure, typical, type Result } from "../result.ts";
import { median } from "../statistics.ts";

const peerCount = 1_000;
const starts = 3;
const changes = 100;
const warmUp = 5;
const quietMs = 5_000;
/** Other work of the agent after the node routes, such as masquerading, ends within this pause. */
const pauseMs = 150;
const limitMs = 10_000;
const maxStartSeconds = 5;
const maxChangeMs = 50;

/**
 * The cost of 1,000 other Nodes for an agent: its start, the change of one of them, and memory; with tunnels and with
 * routes.
 */
export async function manyPeers(): Promise<readonly Result[]> {
    await using server = await startChartServer();
    await server.addNode(ownNode, { podCidrs: ownPodCidrs, internalIps: ownAddresses });
    await createPeers(server, peerCount);
    return [...(await inMode("encap", server, 0)), ...(await inMode("noEncap", server, changes + warmUp))];
}

async function inMode(mode: Mode, server: TestApiServer, first: number): Promise<readonly Result[]> {
    const seconds: number[] = [];
    for (let round = 1; round < starts; round++) {
        await using node = await PeerNode.start(mode, server);
        seconds.push(await node.allRoutes(peerCount));
        await node.agent.ready();
    }
    await using node = await PeerNode.start(mode, server);
    seconds.push(await node.allRoutes(peerCount));
    await node.agent.ready();
    await sleep(quietMs);
    const atRest = node.agent.memory();
    const id = `peers-${mode.toLowerCase()}`;
    const what = `${peerCount} peers, ${mode}`;
    return [
        typical({
            id: `${id}-start`,
            what: `${what}: all flows and routes, from the start of the agent`,
            samples: seconds,
            unit: "s",
            max: maxStartSeconds,
        }),
        figure({ id: `${id}-memory`, what: `${what}: antrea-agent, resident memory`, value: atRest.now, unit: "MiB" }),
        figure({ id: `${id}-memory-peak`, what: `${what}: its peak until then`, value: atRest.peak, unit: "MiB" }),
        ...(await oneByOne(mode, node, server.clients().api, { first, id, what })),
    ];
}

interface Naming {
    /** Number of the first peer to change. */
    readonly first: number;
    readonly id: string;
    readonly what: string;
}

/** Changes peers one at a time, and checks the writes for each. */
async function oneByOne(
    mode: Mode,
    node: PeerNode,
    api: ApiClient,
    { first, id, what }: Naming,
): Promise<readonly Result[]> {
    await using writes = await Writes.open(node.ovs, bridge);
    await using watch = await BareWatch.open(api);
    const pairs = { ours: [] as number[], peer: [] as number[] };
    const written: number[] = [];
    const foreign: Write[] = [];
    let messages = 0;
    for (let change = -warmUp; change < changes; change++) {
        if (change === 0) messages = await node.messages();
        const peer = peerAt(first + warmUp + change, 1);
        const before = writes.count;
        const begin = performance.now();
        const seen = watch.shows(peer);
        const [end] = await Promise.all([
            writes.until(() => isInPlace(mode, peer, writes.since(before)), limitMs),
            move(api, peer),
        ]);
        const seenAt = await seen;
        await sleep(pauseMs);
        if (change < 0) continue;
        pairs.ours.push(end - begin);
        pairs.peer.push(seenAt - begin);
        const all = writes.since(before);
        const others = all.filter((write) => !concerns(peer, write));
        written.push(all.length - others.length);
        foreign.push(...others);
    }
    messages = (await node.messages()) - messages;
    const peer = "until a bare watch of Nodes shows it";
    const changed = `${what}: one changes its addresses, until its flows and routes are changed`;
    const common = { peer, pairs, max: maxChangeMs };
    return [
        comparison({ id: `${id}-change-p50`, what: `${changed}, p50`, ...common }),
        comparison({ id: `${id}-change-p99`, what: `${changed}, p99`, ...common, share: 0.99 }),
        figure({
            id: `${id}-change-written`,
            what: `${what}: flows, routes and neighbours written for it`,
            value: median(written),
            unit: "writes",
        }),
        fact({
            id: `${id}-change-others`,
            what: `${what}: of others in all ${changes} changes together${named(foreign)}`,
            value: foreign.length,
            unit: "writes",
            goal: "none",
            holds: foreign.length === 0,
        }),
        figure({
            id: `${id}-change-messages`,
            what: `${what}: OpenFlow messages to ovs-vswitchd for it`,
            value: messages / changes,
            unit: "messages",
        }),
    ];
}

/** With a tunnel the flows change, and the routes, which lead to the gateway, do not. */
function isInPlace(mode: Mode, peer: SimulatedPeer, writes: readonly Write[]): boolean {
    return peer.podCidrs.every((podCidr, at) => {
        const [kind, via] = mode === "encap" ? ["flow", peer.addresses[0]] : ["route", peer.addresses[at]];
        return writes.some(
            (write) => write.kind === kind && write.to === podCidr && write.via === via && !write.deleted,
        );
    });
}

function named([first]: readonly Write[]): string {
    return first === undefined ? "" : ` (${first.kind} to ${first.to})`;
}

function concerns({ podCidrs: [ipv4, ipv6] }: SimulatedPeer, { kind, to }: Write): boolean {
    if (kind !== "neighbour") return to === ipv4 || to === ipv6;
    return to === ipv4.replace("0/24", "1") || to === ipv6.replace("/64", "1");
}
