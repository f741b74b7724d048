import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { isDeepStrictEqual } from "node:util";
import { pods } from "@antrea/kube";
import { networkAllocations } from "../../../src/features/ip-pools/index.ts";
import type { NetworkAllocations } from "../../../src/platform/pod-interfaces/index.ts";
import { PoolCluster } from "../ip-pools/support/pool-cluster.ts";
import type { TestPoolAgent } from "../ip-pools/support/test-agent.ts";
import { eventually } from "../../support/eventually.ts";
import { Interruptions, numbered, type CallNumber, type interruptions } from "../../support/interruptions.ts";
import { addNic, podPorts, refusalOf, testNic } from "../../support/network-node.ts";
import { plannedNetwork } from "../../support/planned-network.ts";
import { TestNode, type NodeState, type TestAgent } from "../../support/test-node.ts";
import { TestPod } from "../../support/test-pod.ts";

// An ADD of 16 networks on a real API server, Open vSwitch and kernel, each of whose steps fails or is the agent's last.

const pools = [0, 1, 2, 3].map((number) => `pool-${number}`);
/** Half of them know their VLAN before they have addresses, so that their ports are made then. */
const networks = Array.from({ length: 16 }, (_, at) =>
    plannedNetwork(`eth${at + 1}`, { pool: pools[at % pools.length], ...(at % 2 === 0 ? { vlan: 10 + at } : {}) }),
);

let node: TestNode;
let cluster: PoolCluster;
/** Both halves of an agent, as compose.ts puts them together: the wiring of Pods, and the allocations. */
let agent: TestAgent;
let allocations: TestPoolAgent;
let steps: Interruptions;
let podUid: string;
/** What the API server was asked for. */
let asked: Promise<unknown>[];
let nothing: Found;

/** All that an ADD makes. */
interface Found {
    readonly state: NodeState;
    /** In the bridge of networks. */
    readonly ports: readonly string[];
    /** Addresses of the Node's own subnets that are in use, of each family. */
    readonly used: readonly number[];
    readonly allocations: readonly string[];
}

async function found(): Promise<Found> {
    const [state, ports, all] = await Promise.all([node.state(), podPorts(node), cluster.allocations()]);
    const { used } = agent;
    return { state, ports, used, allocations: all.map(({ spec }) => `${spec.address} of ${spec.pod?.interface}`) };
}

function recordedAllocations(): NetworkAllocations {
    const real = networkAllocations(allocations.pools);
    return {
        ...real,
        claimForNetwork: (...request) => {
            const claimed = real.claimForNetwork(...request);
            asked.push(claimed);
            return claimed;
        },
    };
}

async function start(): Promise<void> {
    asked = [];
    // Without cooldown: each ADD may take the addresses of the one before.
    allocations = cluster.agent("here", { cooldownMs: 0 });
    await allocations.pools.synced(AbortSignal.timeout(60_000));
    agent = await node.startAgent({
        networks: { nic: testNic, plan: () => networks, allocations: recordedAllocations(), interruptions: steps },
    });
}

/** The agent is killed, and the next one starts. */
async function restart(): Promise<void> {
    await agent.stop();
    // What was sent may be carried out or not. Here it is, before the next agent reads it, or the result would be chance.
    await Promise.allSettled(asked);
    await allocations.kill();
    await start();
}

/** One ADD with this call interrupted, and the DEL after it. Resolves with the name of the call. */
async function interruptedAdd(call: CallNumber, how: (typeof interruptions)[number]): Promise<string> {
    const pod = new TestPod("a", podUid);
    let refusal = "";
    const isKilled = await steps.during(call, how, async () => (refusal = await refusalOf(agent.add(pod))));
    const name = steps.interrupted ?? "";
    const context = `${how}: ${call.name} ${call.nth}: ${isKilled ? "killed" : refusal}`;
    if (isKilled) await restart();
    else if (refusal !== "") {
        // By the ADD itself: no check has run since, and its namespace is there yet.
        const left = await eventually(found, (now) => isDeepStrictEqual(now, nothing), 10_000);
        const inPod = pod.netns.run("ip", "-o", "link", "show").match(/eth\d+/g) ?? [];
        // The ADD does not know whose link it is when the answer to its creation is lost; it is down, and ends with the namespace.
        const isUnknown = how === "answer lost" && name === "netlink.createVeth" && inPod.join() === "eth0";
        const { links } = isUnknown ? left.state : nothing.state;
        expect([context, left]).toEqual([context, { ...nothing, state: { ...nothing.state, links } }]);
        if (!isUnknown) expect([context, inPod]).toEqual([context, []]);
    }
    await agent.del(pod);
    pod[Symbol.dispose]();
    const left = await eventually(
        () => agent.resync().then(found),
        (now) => isDeepStrictEqual(now, nothing),
        30_000,
    );
    expect([context, left]).toEqual([context, nothing]);
    return name;
}

beforeAll(async () => {
    // First: what is started after it is in the Node's network namespace too.
    node = await TestNode.start();
    cluster = await PoolCluster.start();
    addNic();
    for (const [at, pool] of pools.entries()) {
        const [cidr, gateway] = [`10.9.${at}.0/24`, `10.9.${at}.1`];
        await cluster.addPool(pool, { cidr, gateway, prefixLength: 24, vlan: 100 + at });
    }
    const { metadata } = await cluster.api.create(pods, {
        metadata: { namespace: "default", name: "a" },
        spec: { nodeName: "here", containers: [{ name: "app", image: "none" }] },
    });
    podUid = metadata?.uid ?? "";
    steps = new Interruptions();
    await start();
    nothing = await found();
});
afterAll(async () => {
    await agent?.stop();
    await cluster?.[Symbol.asyncDispose]();
    await node?.[Symbol.asyncDispose]();
});

describe("an ADD with 16 networks", () => {
    let calls: readonly string[];
    /** The first and the last call of each kind. */
    let telling: readonly CallNumber[];

    beforeAll(async () => {
        const pod = new TestPod("a", podUid);
        calls = await steps.recorded(() => agent.add(pod));
        const made = await found();
        expect([made.ports.length, made.allocations.length, made.used]).toEqual([16, 16, [1, 1]]);
        await agent.del(pod);
        pod[Symbol.dispose]();
        const ends = new Set(calls.flatMap((name) => [calls.indexOf(name), calls.lastIndexOf(name)]));
        telling = numbered(calls).filter((_, at) => ends.has(at));
    });

    it("makes the ports of all interfaces in one transaction, and their records in another", () => {
        expect(calls.filter((name) => name.startsWith("secondary."))).toEqual([
            "secondary.ensurePorts",
            "secondary.ensurePorts",
            "secondary.opened",
        ]);
        expect(calls.filter((name) => name === "allocations.claimForNetwork")).toHaveLength(16);
        expect(telling.length).toBeGreaterThan(10);
    });

    it.each(["not made", "killed after"] as const)(
        "leaves nothing, whatever call is interrupted: %s",
        async (how) => {
            const interrupted = new Set<string>();
            for (const call of numbered(calls)) interrupted.add(await interruptedAdd(call, how));
            interrupted.delete("");
            expect([...interrupted].toSorted()).toEqual([...new Set(calls)].toSorted());
        },
        900_000,
    );

    it.each(["answer lost", "killed before"] as const)(
        "leaves nothing, whether the first or the last call of a kind is interrupted: %s",
        async (how) => {
            const interrupted = new Set<string>();
            for (const call of telling) interrupted.add(await interruptedAdd(call, how));
            expect(interrupted.size).toBeGreaterThan(5);
        },
        900_000,
    );
});
