import { describe, expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import { type IpPool } from "@antrea/crd";
import { formatPrefix, parsePrefix } from "@antrea/ip";
import { readPool } from "@antrea/ipam";
import { KubeError, type EventInput, type Node, type Pod } from "@antrea/kube";
import { MemoryLog } from "@antrea/runtime/testing";
import { AllocationReader, type Allocation } from "../../../src/platform/allocations/allocation.ts";
import { type AllocationListener } from "../../../src/platform/allocations/index.ts";
import { CidrAllocator } from "../../../src/features/node-ipam/cidr-allocator.ts";
import { PoolAddresses, type PoolHolds } from "../../../src/features/node-ipam/pool-addresses.ts";
import { Reports } from "../../../src/features/node-ipam/reports.ts";
import { type PoolListener } from "../../../src/platform/pool-cache/index.ts";
import { allocation, ownedBySet } from "../../fakes.ts";

const cluster = parsePrefix("10.244.0.0/22");

function poolOf(name: string, start: string, end = start, gateway = "10.244.9.1"): IpPool {
    const ipRanges = [{ start, end, gateway, prefixLength: 15 }];
    return { metadata: { name, uid: `uid-${name}` }, spec: { ipVersion: 4, ipRanges } };
}

/** What NodeIPAM receives of pools and allocations, and what it does with that. */
class Place {
    readonly allocator: CidrAllocator;
    readonly events: EventInput[] = [];
    readonly nodes: Node[] = [];
    readonly clock = new ManualClock();
    readonly log = new MemoryLog();
    readonly reports: Reports;
    readonly holds: PoolHolds;
    /** Those of all Nodes. */
    pods: readonly Pod[] = [];
    /** Nodes of which nobody can list the Pods. */
    failing: readonly string[] = [];
    /** How listing them fails. */
    failure: Error = new KubeError("TIMEOUT", "no answer");
    /** Field selectors. */
    readonly asked: string[] = [];
    readonly #pools = new Map<string, IpPool>();
    readonly #onPool = new Set<PoolListener>();
    readonly #onAllocation = new Set<AllocationListener>();

    constructor(prefix = cluster) {
        this.allocator = new CidrAllocator({ clusters: [{ prefix, nodeMaskSize: 24 }], serviceCidrs: [] });
        this.reports = new Reports(
            {
                recorder: { record: (event) => void this.events.push(event) },
                nodes: { list: () => this.nodes },
            },
            { clusters: [prefix] },
        );
        const listen = <T>(listeners: Set<T>, listener: T): Disposable => {
            listeners.add(listener);
            return { [Symbol.dispose]: () => listeners.delete(listener) };
        };
        const list = (_pods: unknown, { fieldSelector = "" }): Promise<unknown> => {
            this.asked.push(fieldSelector);
            if (this.failing.some((node) => fieldSelector.endsWith(`=${node}`))) {
                return Promise.reject(this.failure);
            }
            return Promise.resolve({ items: this.pods });
        };
        this.holds = new PoolAddresses({
            api: { list: list as never },
            logger: this.log.logger,
            clock: this.clock,
            pools: {
                get: (name) => (this.#pools.has(name) ? readPool(this.#pools.get(name)!) : undefined),
                object: (name) => this.#pools.get(name),
                covering: (ip) =>
                    [...this.#pools.values()]
                        .map((object) => readPool(object))
                        .filter((pool) => pool.subnetOf(ip) !== undefined)
                        .map(({ name }) => name),
                onChange: (listener) => listen(this.#onPool, listener),
                synced: () => Promise.resolve(),
            },
            allocations: {
                onChange: (listener) => listen(this.#onAllocation, listener),
                synced: () => Promise.resolve(),
            },
        }).follow(this.allocator, this.reports);
    }

    pool(name: string, object: IpPool | undefined): void {
        if (object === undefined) this.#pools.delete(name);
        else this.#pools.set(name, object);
        for (const listener of this.#onPool) listener(name, "meaning");
    }

    allocationChanged(before: Allocation | undefined, after: Allocation | undefined): void {
        for (const listener of this.#onAllocation) listener(before, after);
    }

    allocationOf(address: string, options: Parameters<typeof allocation>[2], pool = "gone"): Allocation {
        const parsed = new AllocationReader().read(allocation(address, pool, options));
        this.allocationChanged(undefined, parsed);
        return parsed;
    }

    async release(signal = new AbortController().signal): Promise<boolean> {
        await this.clock.advance(10_000);
        return this.holds.release(signal);
    }

    get free(): number {
        return this.allocator.room(0);
    }

    assigned(node: string): string {
        const assignment = this.allocator.assign(node, 0);
        return assignment.kind === "assigned" ? assignment.cidrs.map(formatPrefix).join() : assignment.kind;
    }
}

describe("subnets of Nodes, with IPPools", () => {
    it("are none that a pool or an allocation has addresses of", () => {
        const place = new Place();
        const parsed = new AllocationReader().read(allocation("10.244.1.9", "gone", { node: "n" }));
        place.pool("a", poolOf("a", "10.244.0.5", "10.244.0.9"));
        place.allocationChanged(undefined, parsed);
        expect(place.assigned("one")).toBe("10.244.2.0/24");
        // A change of an allocation is no second one.
        place.allocationChanged(parsed, { ...parsed, pod: undefined });
        place.allocationChanged({ ...parsed, pod: undefined }, undefined);
        place.pool("a", undefined);
        expect(place.assigned("two")).toBe("10.244.3.0/24");
        expect(place.assigned("three")).toBe("10.244.0.0/24");
        expect(place.assigned("four")).toBe("10.244.1.0/24");
    });

    it("are reported on the pool, once for what it has of them, with Nodes that have them already", () => {
        const place = new Place();
        place.nodes.push({ metadata: { name: "n7" }, spec: { podCIDRs: ["10.244.2.5/24"] } });
        place.pool("far", poolOf("far", "10.245.0.1"));
        expect(place.events).toEqual([]);
        place.pool("a", poolOf("a", "10.244.1.250", "10.244.2.9"));
        place.pool("a", poolOf("a", "10.244.1.250", "10.244.2.9"));
        expect(place.events).toMatchObject([
            {
                type: "Warning",
                reason: "InClusterCIDR",
                regarding: { kind: "IPPool", name: "a" },
                note: "10.244.1.250-10.244.2.9 of IPPool a is in nodeIPAM.clusterCIDRs: Nodes get no subnet that has any of it. Node n7 has 10.244.2.0/24 already: the pool does not hand out addresses of it. Use addresses and gateways outside nodeIPAM.clusterCIDRs.",
            },
        ]);
        place.pool("a", poolOf("a", "10.244.1.250"));
        expect(place.events).toHaveLength(2);
    });
});

describe("allocations of addresses that no IPPool has", () => {
    const podOf = ({ pod }: Allocation): Pod => ({
        metadata: { name: pod!.name, namespace: pod!.namespace, uid: pod!.uid },
    });

    it("hold subnets only with their Pods, once subnets are wanted", async () => {
        const place = new Place();
        place.nodes.push({ metadata: { name: "n1", uid: "u1" } });
        const live = place.allocationOf("10.244.0.9", { node: "n1" });
        place.allocationOf("10.244.1.9", { node: "n1" });
        place.allocationOf("10.244.2.9", { node: "n2" });
        place.allocationOf("10.244.3.9", { owner: ownedBySet("web", 0) });
        expect(place.free).toBe(0);
        place.pods = [podOf(live)];
        expect(await place.release()).toBe(true);
        expect(place.asked).toEqual(["spec.nodeName=n1", "spec.nodeName=n2"]);
        expect(place.assigned("a")).toBe("10.244.1.0/24");
        expect(place.assigned("b")).toBe("10.244.2.0/24");
        expect(place.assigned("c")).toBe("exhausted");
        expect(place.holds.obstacles.allocations.map(({ metadata }) => metadata.name)).toEqual([
            "10.244.0.9",
            "10.244.3.9",
        ]);
        expect(place.events).toMatchObject([
            {
                type: "Warning",
                reason: "ClaimsOutsidePools",
                regarding: { kind: "Node", name: "n1" },
                note: "IPAllocations of this Node have addresses of nodeIPAM.clusterCIDRs that no IPPool contains, and no longer keep a subnet from other Nodes: of Pods that are not on this Node: 10.244.1.9 (IPPool gone). Only antrea-agent of this Node, or a holder of its token, creates them: check the Node, and delete those that no Pod uses.",
            },
        ]);
        expect(await place.release()).toBe(false);
    });

    it("release those of each Node of which the Pods are known, and say which could not be listed", async () => {
        const place = new Place();
        place.nodes.push({ metadata: { name: "n2", uid: "u2" } });
        place.failing = ["n1", "n3"];
        for (const [at, node] of ["n1", "n2", "n3"].entries()) place.allocationOf(`10.244.${at}.9`, { node });
        expect(await place.release()).toBe(true);
        expect(place.free).toBe(2);
        expect(place.events).toMatchObject([{ reason: "ClaimsOutsidePools", regarding: { name: "n2" } }]);
        expect(place.log.records.filter(({ msg }) => msg.startsWith("cannot read the Pods"))).toMatchObject([
            { level: "warn", nodes: 2, node: "n1" },
        ]);
        place.failing = [];
        expect(await place.release()).toBe(true);
        expect(place.free).toBe(4);
    });

    it.each([
        ["fails otherwise than by an answer of the API server", new TypeError("a bug"), undefined],
        ["is aborted", new KubeError("ABORTED", "list"), AbortSignal.abort()],
    ])("release none, and the check rejects, when the list of the Pods %s", async (_what, failure, signal) => {
        const place = new Place();
        Object.assign(place, { failing: ["n1"], failure });
        place.allocationOf("10.244.0.9", { node: "n1" });
        await expect(place.release(signal)).rejects.toBe(failure);
        expect(place.free).toBe(3);
    });

    it("hold their subnets again when another Pod has the address, and not when anything else changes", async () => {
        const place = new Place();
        const parsed = place.allocationOf("10.244.0.9", { node: "n1" });
        expect(await place.release()).toBe(true);
        place.allocationChanged(parsed, { ...parsed, generation: 2 });
        expect(place.free).toBe(4);
        place.allocationChanged(parsed, { ...parsed, pod: { ...parsed.pod!, uid: "another" } });
        expect(place.free).toBe(3);
    });

    it("of static Pods count by the hash of the manifest", async () => {
        const place = new Place();
        const { pod } = place.allocationOf("10.244.0.9", { node: "n1" });
        const { namespace, name } = pod!;
        const hash = { "kubernetes.io/config.hash": pod!.uid };
        const annotations = { ...hash, "kubernetes.io/config.mirror": pod!.uid };
        place.pods = [{ metadata: { namespace, name, uid: "mirror", annotations } }];
        expect(await place.release()).toBe(false);
        expect(place.free).toBe(3);
        // Any user can set the hash alone.
        place.pods = [{ metadata: { namespace, name, uid: "user", annotations: hash } }];
        expect(await place.release()).toBe(true);
        expect(place.free).toBe(4);
    });

    it.each([
        ["another Namespace", { namespace: "other" }],
        ["another name", { name: "other" }],
    ])("do not count by a mirror Pod of %s, which any user can create", async (_, change) => {
        const place = new Place();
        const { pod } = place.allocationOf("10.244.0.9", { node: "n1" });
        const { namespace, name, uid } = pod!;
        const annotations = { "kubernetes.io/config.hash": uid, "kubernetes.io/config.mirror": uid };
        place.pods = [{ metadata: { namespace, name, ...change, uid: "mirror", annotations } }];
        expect(await place.release()).toBe(true);
        expect(place.free).toBe(4);
    });

    it("hold 16 subnets a Node, the oldest ones", async () => {
        const place = new Place(parsePrefix("10.244.0.0/16"));
        place.nodes.push({ metadata: { name: "n1", uid: "u1" } });
        const allocations = Array.from({ length: 40 }, (_, at) => {
            const address = `10.244.${at >> 1}.${9 + (at % 2)}`;
            const parsed = new AllocationReader().read(allocation(address, "gone", { node: "n1" }));
            const created = { ...parsed, createdAt: `2026-01-01T00:00:${String(99 - at).padStart(2, "0")}Z` };
            place.allocationChanged(undefined, created);
            return created;
        });
        place.pods = allocations.map(podOf);
        expect(place.free).toBe(236);
        expect(await place.release()).toBe(true);
        expect(place.free).toBe(240);
        expect(place.assigned("a")).toBe("10.244.0.0/24");
        expect(place.events[0]?.note).toContain(
            "of Pods on it, in more than 16 subnets: 10.244.3.10 (IPPool gone), 10.244.3.9 (IPPool gone), 10.244.2.10 (IPPool gone) and 5 more",
        );
    });

    it("are described to a Node that waits only as far as they are shown", () => {
        const place = new Place();
        const described = new Set<number>();
        const allocations = Array.from({ length: 50 }, (_, at) => {
            const parsed = new AllocationReader().read(allocation(`10.244.0.${at + 9}`, "gone", { node: "n1" }));
            return Object.defineProperty({ ...parsed }, "pool", { get: () => (described.add(at), parsed.pool) });
        });
        place.reports.exhausted({ metadata: { name: "n1" } }, [cluster], { pools: [], allocations });
        expect(place.events[0]?.note).toContain("and 47 more; delete that Pod");
        expect(described.size).toBe(3);
    });

    it("are judged at most every ten seconds, for all Nodes that wait at once, and not where a pool has them", async () => {
        const place = new Place();
        place.pool("a", poolOf("a", "10.244.0.5", "10.244.0.9"));
        place.allocationOf("10.244.0.9", { node: "n1" });
        place.allocationOf("10.244.1.9", { node: "n2" });
        const { signal } = new AbortController();
        const releases = [place.holds.release(signal), place.holds.release(signal)];
        expect(await Promise.all(releases)).toEqual([true, true]);
        expect(place.asked).toEqual(["spec.nodeName=n2"]);
        place.allocationOf("10.244.2.9", { node: "n2" });
        expect(await place.holds.release(signal)).toBe(false);
        expect(await place.release()).toBe(true);
    });
});

describe("the gateway of a pool", () => {
    it("keeps its subnet from Nodes, as the pool reports, and as long as the pool has it", () => {
        const place = new Place();
        const gateway = { kind: "Gateway", name: "10.244.0.1" } as const;
        place.pool("a", poolOf("a", "10.245.0.5", "10.245.0.9", "10.244.0.1"));
        const parsed = place.allocationOf("10.244.0.1", { owner: gateway }, "a");
        expect(place.events).toMatchObject([
            {
                reason: "InClusterCIDR",
                note: "gateway 10.244.0.1 of IPPool a is in nodeIPAM.clusterCIDRs: Nodes get no subnet that has any of it. Use addresses and gateways outside nodeIPAM.clusterCIDRs.",
            },
        ]);
        expect(place.holds.obstacles).toEqual({ pools: ["a"], allocations: [] });
        expect(place.free).toBe(3);
        place.pool("a", undefined);
        expect(place.free).toBe(4);
        place.allocationChanged(parsed, undefined);
        expect(place.free).toBe(4);
    });
});
