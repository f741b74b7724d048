import { describe, expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import fc from "fast-check";
import { ipAllocations } from "@antrea/crd";
import { pods } from "@antrea/kube";
import { timeoutsBy } from "../../support/timeouts.ts";
import { away, lost, type Fault } from "./support/fake-api.ts";
import { FakeCluster } from "./support/fake-cluster.ts";
import { FakeWiring } from "./support/fake-wiring.ts";
import { type TestPoolAgent } from "./support/test-agent.ts";

const nodeNames = ["a", "b", "c"] as const;
const podCount = 8;

type Step =
    | { readonly do: "add"; readonly pod: number; readonly cancel: boolean }
    | { readonly do: "again" | "del" | "lateDel" | "forget"; readonly pod: number }
    | { readonly do: "restart" | "reconcile"; readonly node: number }
    | { readonly do: "deleteAllocation"; readonly at: number }
    | { readonly do: "hold" | "deliver" | "wait" };

const pod = fc.integer({ min: 0, max: podCount - 1 });
const node = fc.integer({ min: 0, max: nodeNames.length - 1 });
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
    fc.oneof(
        { weight: 6, arbitrary: fc.record({ do: fc.constant("add" as const), pod, cancel: fc.boolean() }) },
        { weight: 4, arbitrary: fc.record({ do: fc.constantFrom("del" as const, "lateDel" as const), pod }) },
        { weight: 2, arbitrary: fc.record({ do: fc.constant("again" as const), pod }) },
        { weight: 1, arbitrary: fc.record({ do: fc.constant("forget" as const), pod }) },
        { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("restart" as const, "reconcile" as const), node }) },
        { weight: 1, arbitrary: fc.record({ do: fc.constant("deleteAllocation" as const), at: fc.nat(9) }) },
        {
            weight: 3,
            arbitrary: fc.record({ do: fc.constantFrom("hold" as const, "deliver" as const, "wait" as const) }),
        },
    ),
    { minLength: 5, maxLength: 40 },
);
const faults = fc.array(
    fc.constantFrom<Fault | undefined>(undefined, undefined, { lose: lost() }, { refuse: away() }),
    {
        minLength: 7,
        maxLength: 7,
    },
);

/** A Node with its agent, which comes and goes, and its interfaces, which stay. */
class SimNode {
    readonly wiring = new FakeWiring();
    agent: TestPoolAgent;
    readonly #cluster: FakeCluster;
    readonly #name: string;
    readonly #clock: ManualClock;

    constructor(cluster: FakeCluster, name: string, clock: ManualClock) {
        this.#cluster = cluster;
        this.#name = name;
        this.#clock = clock;
        this.agent = this.#start();
    }

    async restart(): Promise<void> {
        await this.agent.kill();
        this.wiring.adding.clear();
        this.agent = this.#start();
    }

    #start(): TestPoolAgent {
        return this.#cluster.agent(this.#name, { confirmMs: 0, cooldownMs: 20, clock: this.#clock });
    }
}

/**
 * Pods that start, stop and are forgotten on Nodes; kubelet's view of them is a new sandbox for each try. Time passes
 * while something is waited for.
 */
class Simulation implements AsyncDisposable {
    readonly cluster = new FakeCluster();
    readonly #clock = new ManualClock();
    readonly #timeouts = timeoutsBy(this.#clock);
    readonly nodes: readonly SimNode[];
    readonly #sandboxes = new Map<number, string[]>();
    readonly #under: Promise<void>[] = [];

    constructor() {
        // Fewer addresses than Pods of two interfaces' worth, in pools that overlap although they must not.
        this.cluster.addPool("pool1", { start: "10.0.0.1", end: "10.0.0.6", gateway: "10.0.0.254", prefixLength: 24 });
        this.cluster.addPool("pool2", { start: "10.0.0.4", end: "10.0.0.9", gateway: "10.0.0.254", prefixLength: 24 });
        this.nodes = nodeNames.map((name) => new SimNode(this.cluster, name, this.#clock));
        for (let at = 0; at < podCount; at += 1) this.#addPod(at);
    }

    nodeOf(at: number): SimNode {
        return this.nodes[at % this.nodes.length] as SimNode;
    }

    run(step: Step): Promise<void> {
        return this.#passing(Promise.resolve(this.#run(step)));
    }

    #run(step: Step): Promise<void> | void {
        switch (step.do) {
            case "add":
                this.#under.push(this.#add(step.pod, step.cancel, false));
                return undefined;
            case "again":
                this.#under.push(this.#add(step.pod, false, true));
                return undefined;
            case "del":
                return this.#del(step.pod, -1);
            case "lateDel":
                return this.#del(step.pod, 0);
            case "forget":
                this.cluster.api.remove(pods, `default/p${step.pod}`);
                return undefined;
            case "restart":
                return this.nodes[step.node]?.restart();
            case "reconcile":
                // Without the allocations of its Node, while the API server is away, there is nothing to be compared.
                return this.#reconcile(this.nodes[step.node] as SimNode, 300).catch(() => undefined);
            case "deleteAllocation": {
                const allocation = this.cluster.allocations()[step.at];
                if (allocation !== undefined) this.cluster.api.remove(ipAllocations, allocation.metadata?.name ?? "");
                return undefined;
            }
            case "hold":
                return this.cluster.api.holdEvents();
            case "deliver":
                return this.cluster.api.releaseEvents();
            case "wait":
                return this.#clock.advance(5);
        }
    }

    /** No faults any more, everything ends, and all agents check until nothing is left to be done. */
    async quiet(): Promise<void> {
        this.cluster.api.fault = () => undefined;
        this.cluster.api.releaseEvents();
        await this.#passing(Promise.all(this.#under));
        for (let round = 0; round < 3; round += 1) {
            await this.#clock.advance(10);
            for (const one of this.nodes) await this.#passing(this.#reconcile(one, 10_000));
        }
    }

    /** Interfaces in use by address: each should have one. */
    users(): ReadonlyMap<string, readonly string[]> {
        const users = new Map<string, string[]>();
        for (const { wiring } of this.nodes) {
            for (const { containerId, addresses } of wiring.interfaces()) {
                if (wiring.cut.has(containerId)) continue;
                for (const { ip } of addresses)
                    users.set(String(ip.value), [...(users.get(String(ip.value)) ?? []), containerId]);
            }
        }
        return users;
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.#passing(this.cluster[Symbol.asyncDispose]());
        this.#timeouts[Symbol.dispose]();
    }

    /** The outcome of the work; until then time goes on, 1 ms at a time. */
    async #passing<T>(work: Promise<T>): Promise<T> {
        let isOver = false;
        const over = (): void => void (isOver = true);
        work.then(over, over);
        // What is over at once takes no time.
        await Promise.resolve();
        while (!isOver) await this.#clock.advance(1);
        return work;
    }

    #addPod(at: number): void {
        const metadata = { namespace: "default", name: `p${at}`, uid: `uid-p${at}` };
        const spec = { nodeName: nodeNames[at % nodeNames.length] };
        this.cluster.api.put(pods, { metadata, spec, status: { phase: "Running" } } as never);
    }

    /** As PodNetwork does it: older sandboxes go first, the allocation comes before the record, and roll-back releases. */
    async #add(at: number, cancel: boolean, again: boolean): Promise<void> {
        const { wiring, agent } = this.nodeOf(at);
        const uid = `uid-p${at}`;
        const known = this.#sandboxes.get(at) ?? [];
        const containerId = (again ? known.at(-1) : undefined) ?? `c-p${at}-${known.length}`;
        this.#sandboxes.set(at, [...new Set([...known, containerId])]);
        const signal = cancel ? AbortSignal.timeout(2) : AbortSignal.timeout(60_000);
        const add = async (): Promise<void> => {
            if (wiring.interfaces().some((wired) => wired.containerId === containerId)) return;
            for (const older of known) wiring.unwire(older);
            const pools = at % 2 === 0 ? ["pool1", "pool2"] : ["pool2"];
            try {
                const claimed = await agent.claimAddresses(`p${at}`, { pools, containerId }, signal);
                if (agent === this.nodeOf(at).agent) wiring.wire(`p${at}`, claimed, containerId);
            } catch {
                await agent.pools.release({ containerId, ifName: "eth0" });
            }
        };
        wiring.adding.add(uid);
        await wiring.exclusively(`${uid}/eth0`, () => wiring.exclusively(containerId, add));
        wiring.adding.delete(uid);
    }

    async #del(at: number, which: number): Promise<void> {
        const { wiring, agent } = this.nodeOf(at);
        const containerId = this.#sandboxes.get(at)?.at(which);
        if (containerId === undefined) return;
        await wiring.exclusively(containerId, async () => {
            wiring.unwire(containerId);
            await agent.pools.release({ containerId, ifName: "eth0" });
        });
    }

    async #reconcile({ agent, wiring }: SimNode, limitMs: number): Promise<void> {
        await agent.pools.reconcile(wiring, AbortSignal.timeout(limitMs));
    }
}

describe("whatever is lost, late, repeated or killed", () => {
    it("no address has two users at any moment, and in the end each allocation has a user or a Pod that may come", async () => {
        await fc.assert(
            fc.asyncProperty(steps, faults, async (script, mishaps) => {
                await using simulation = new Simulation();
                let request = 0;
                simulation.cluster.api.fault = (method, plural) =>
                    plural === "ipallocations" && method !== "list" ? mishaps[request++ % mishaps.length] : undefined;
                for (const step of script) {
                    await simulation.run(step);
                    for (const users of simulation.users().values()) {
                        // An allocation deleted by hand may give an address to a second Pod, until the first is isolated.
                        if (!script.some((one) => one.do === "deleteAllocation")) expect(users).toHaveLength(1);
                    }
                }
                await simulation.quiet();
                const users = simulation.users();
                for (const one of users.values()) expect(one).toHaveLength(1);
                const wired = [...users.values()].flat();
                for (const { spec } of simulation.cluster.allocations()) {
                    const isUsed = wired.includes(spec.pod?.containerID ?? "");
                    const mayCome = simulation.cluster.api.get(pods, `default/${spec.pod?.name}`) !== undefined;
                    expect(isUsed || mayCome).toBe(true);
                }
                const claimed = simulation.cluster.allocations().map(({ spec }) => spec.pod?.containerID);
                for (const containerId of wired) expect(claimed).toContain(containerId);
            }),
            { numRuns: 60, endOnFailure: true },
        );
    });
});
