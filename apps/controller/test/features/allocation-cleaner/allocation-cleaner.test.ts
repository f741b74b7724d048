import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { ManualClock, settle } from "@antrea/async/testing";
import { pods, type ChangeListener, type Node, type Pod } from "@antrea/kube";
import { MemoryLog } from "@antrea/runtime/testing";
import { AllocationCleaner, type AllocationCleanerComponents } from "../../../src/features/allocation-cleaner/index.ts";
import { type Allocation } from "../../../src/platform/allocations/index.ts";

const minute = 60_000;
const atOnce = { by: "watch", after: Infinity } as const;

/** What the cleaner sees of a cluster: one Node, and the allocations of its Pods. */
class FakeCluster {
    readonly clock = new ManualClock();
    readonly allocations = new Map<string, Allocation>();
    /** The Pod of that name, if there is one. */
    pod: Pod | undefined;
    /** Other Pods of the Node. */
    others: readonly Pod[] = [];
    readonly #listeners = new Set<ChangeListener<Node>>();
    #node: Node | undefined = { metadata: { name: "n" } };

    claim(address: string): void {
        const pod = { namespace: "ns", name: "p", uid: "u", nodeName: "n" };
        const allocation = { metadata: { name: address, uid: `uid-${address}` }, pod, owner: { kind: "Pod" } };
        this.allocations.set(address, allocation as unknown as Allocation);
    }

    deleteNode(): void {
        const node = this.#node;
        this.#node = undefined;
        for (const listener of this.#listeners) if (node !== undefined) listener("deleted", "n", node, node, atOnce);
    }

    addNode(): void {
        this.#node = { metadata: { name: "n" } };
        for (const listener of this.#listeners) listener("added", "n", this.#node, undefined, atOnce);
    }

    takeOutOfService(): void {
        const taints = [{ key: "node.kubernetes.io/out-of-service", effect: "NoExecute" }];
        this.#node = { metadata: { name: "n" }, spec: { taints } };
    }

    get components(): AllocationCleanerComponents {
        const { allocations } = this;
        const fake = {
            clock: this.clock,
            logger: new MemoryLog().logger,
            api: {
                find: (resource: unknown) => Promise.resolve(resource === pods ? this.pod : this.#node),
                list: () => Promise.resolve({ items: [...(this.pod === undefined ? [] : [this.pod]), ...this.others] }),
            },
            nodes: {
                get: () => this.#node,
                synced: () => Promise.resolve(),
                onChange: (listener: ChangeListener<Node>) => {
                    this.#listeners.add(listener);
                    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
                },
            },
            allocations: {
                synced: () => Promise.resolve(),
                get nodesInUse() {
                    return allocations.size === 0 ? [] : ["n"];
                },
                usedOn: () => new Set(allocations.values()),
            },
            writer: {
                change: async (name: string, _uid: string, judge: (allocation: Allocation) => Promise<unknown>) => {
                    const live = allocations.get(name);
                    if (live === undefined || (await judge(live)) === undefined) return false;
                    return allocations.delete(name);
                },
            },
            reclaims: { done: () => undefined, watch: () => ({ [Symbol.dispose]: () => undefined }) },
        };
        return fake as unknown as AllocationCleanerComponents;
    }
}

describe("the allocations of a Node that is gone", () => {
    let cluster: FakeCluster;
    let stop: AbortController;
    let run: Promise<void>;

    beforeEach(async () => {
        cluster = new FakeCluster();
        stop = new AbortController();
        cluster.claim("10.2.0.9");
        run = new AllocationCleaner(cluster.components, { intervalMs: minute }).run(stop.signal);
        await settle();
    });
    afterEach(async () => {
        stop.abort();
        await cluster.clock.advance(minute);
        await run;
    });

    it("are freed after five minutes, not before", async () => {
        cluster.deleteNode();
        await cluster.clock.advance(5 * minute - 1_000);
        expect([...cluster.allocations.keys()]).toEqual(["10.2.0.9"]);
        await cluster.clock.advance(1_001);
        expect([...cluster.allocations.keys()]).toEqual([]);
    });

    it("stay when it is back in time, and the five minutes begin anew", async () => {
        cluster.deleteNode();
        await cluster.clock.advance(4 * minute);
        cluster.addNode();
        await cluster.clock.advance(2 * minute);
        cluster.deleteNode();
        await cluster.clock.advance(4 * minute);
        expect(cluster.allocations.size).toBe(1);
        await cluster.clock.advance(minute + 1);
        expect(cluster.allocations.size).toBe(0);
    });

    it("that are made again after they were freed have five minutes of their own: an agent runs there", async () => {
        cluster.deleteNode();
        await cluster.clock.advance(5 * minute + 1);
        expect(cluster.allocations.size).toBe(0);
        cluster.claim("10.2.0.9");
        await cluster.clock.advance(4 * minute);
        expect(cluster.allocations.size).toBe(1);
        await cluster.clock.advance(2 * minute);
        expect(cluster.allocations.size).toBe(0);
    });
});

describe("the allocations of a Node that is out of service", () => {
    const hash = { "kubernetes.io/config.hash": "u" };

    // Anyone who may create Pods can create it.
    const mirrorElsewhere: Pod = {
        metadata: {
            namespace: "other",
            name: "p",
            uid: "fake",
            annotations: { ...hash, "kubernetes.io/config.mirror": "u" },
        },
    };

    it.each<[string, Pod["metadata"], number, (readonly Pod[])?]>([
        ["are freed when the Pod is gone", undefined, 0],
        ["are freed when another Pod has its name", { uid: "again" }, 0],
        ["are freed when its UID is the hash of a mirror Pod in another Namespace", undefined, 0, [mirrorElsewhere]],
        ["are freed when another Pod has its name, and its UID as a hash", { uid: "again", annotations: hash }, 0],
        ["stay while the Pod is there", { uid: "u" }, 1],
        [
            "stay while the mirror of the static Pod is there",
            { uid: "mirror", annotations: { ...hash, "kubernetes.io/config.mirror": "u" } },
            1,
        ],
    ])("%s", async (_, metadata, left, others = []) => {
        const cluster = new FakeCluster();
        cluster.others = others;
        const stop = new AbortController();
        cluster.claim("10.2.0.9");
        cluster.takeOutOfService();
        cluster.pod = metadata && { metadata: { namespace: "ns", name: "p", ...metadata } };
        const run = new AllocationCleaner(cluster.components, { intervalMs: minute }).run(stop.signal);
        await settle();
        await cluster.clock.advance(minute - 1);
        expect(cluster.allocations.size).toBe(left);
        stop.abort();
        await cluster.clock.advance(minute);
        await run;
    });
});
