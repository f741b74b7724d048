import { beforeEach, describe, expect, it } from "@jest/globals";
import { type IpPool } from "@antrea/crd";
import { readPool, type Pool } from "@antrea/ipam";
import { deployments, namespaces, type Deployment, type Namespace, type Pod } from "@antrea/kube";
import { WorkloadReviewer } from "../../src/workloads/index.ts";
import { FakeApi } from "../support/fake-api.ts";
import { annotated, podOf, poolOf, workloadOf } from "../support/objects.ts";

const { signal } = new AbortController();
const pool = (name: string, cidr: string): Pool =>
    readPool(poolOf(name, { cidr, gateway: "10.1.0.1", prefixLength: 24 }) as IpPool);
const namespaced = (annotations: Readonly<Record<string, string>>): Namespace => ({
    metadata: { name: "ns", annotations },
});

/** What the reviewer knows, beside what is stored. */
class Known {
    readonly fake = new FakeApi();
    readonly asked: string[] = [];
    pools: readonly Pool[] = [];
    storedPools: readonly Pool[] = [];
    namespace: Namespace | undefined;
    deployment: Deployment | undefined;
    podList: readonly Pod[] = [];

    reviewer(): WorkloadReviewer {
        const view = (pools: readonly Pool[]) => ({
            pool: (name: string) => pools.find((candidate) => candidate.name === name),
            all: () => pools,
        });
        return new WorkloadReviewer({
            api: this.fake.api,
            pools: {
                ...view(this.pools),
                changes: 1,
                live: async (names) => {
                    this.asked.push(...names);
                    return view(this.storedPools);
                },
            },
            addresses: { current: { nodeAddresses: [], podCidrs: [], serviceCidrs: [] } },
            namespaces: { get: () => this.namespace },
            pods: { list: () => this.podList },
            deployments: { get: () => this.deployment as never },
            statefulSets: { get: () => undefined },
        });
    }
}

let known: Known;
beforeEach(() => {
    known = new Known();
});
const podWith = async (pools?: string, ips?: string): Promise<{ errors: number; warnings: number }> => {
    const object = podOf("p", annotated(pools, ips)) as Pod;
    const { errors, warnings } = await known.reviewer().pod({ namespace: "ns", old: undefined, object }, signal);
    return { errors: errors.length, warnings: warnings.length };
};

describe("a Pod", () => {
    it("passes by what is known, without a request", async () => {
        known.pools = [pool("a", "10.1.0.0/28")];
        expect(await podWith("a", "10.1.0.5")).toEqual({ errors: 0, warnings: 0 });
        expect([known.fake.requests, known.asked]).toEqual([[], []]);
    });

    it("is refused only by what is stored now: the pool, and what it hands out", async () => {
        known.storedPools = [pool("a", "10.1.0.0/28")];
        expect(await podWith("a", "10.1.0.5")).toEqual({ errors: 0, warnings: 0 });
        known.pools = [pool("a", "10.1.0.32/28")];
        expect(await podWith("a", "10.1.0.5")).toEqual({ errors: 0, warnings: 0 });
        expect(known.asked).toEqual(["a", "a"]);
        known.storedPools = known.pools;
        expect(await podWith("a", "10.1.0.5")).toEqual({ errors: 1, warnings: 0 });
    });

    it("has the Namespace's pools as they are stored now", async () => {
        known.pools = known.storedPools = [pool("a", "10.1.0.0/28")];
        expect(await podWith(undefined, "10.1.0.5")).toEqual({ errors: 1, warnings: 0 });
        known.fake.put(namespaces, namespaced(annotated("a")));
        expect(await podWith(undefined, "10.1.0.5")).toEqual({ errors: 0, warnings: 0 });
        known.namespace = namespaced(annotated("a"));
        known.fake.requests.length = 0;
        expect(await podWith(undefined, "10.1.0.5")).toEqual({ errors: 0, warnings: 0 });
        expect(known.fake.requests).toEqual([]);
    });
});

describe("a Scale", () => {
    const scale = async (replicas: number): Promise<number> => {
        const ref = { namespace: "ns", name: "web" };
        return (await known.reviewer().scale("Deployment", ref, replicas, signal)).errors.length;
    };
    const web = (annotations: Readonly<Record<string, string>>, replicas: number): Deployment => {
        const object = workloadOf("Deployment", "web", annotations, { replicas }) as Deployment;
        return { ...object, metadata: { ...object.metadata, namespace: "ns" } };
    };

    it("of what is not known yet is judged by what is stored; of nothing it is nobody's business", async () => {
        expect(await scale(2)).toBe(0);
        known.fake.put(deployments, web(annotated("a", "10.1.0.5"), 1));
        expect(await scale(2)).toBe(1);
        known.deployment = web(annotated("a", "10.1.0.5"), 1);
        expect(await scale(2)).toBe(1);
        expect(await scale(1)).toBe(0);
    });

    it("down is allowed, also from a number that the known object does not have yet", async () => {
        known.deployment = web(annotated("a", "10.1.0.5"), 1);
        known.fake.put(deployments, web(annotated("a", "10.1.0.5"), 3));
        expect(await scale(2)).toBe(0);
    });
});

describe("a Namespace", () => {
    it("is used by Pods with an address of its pools, or with none yet", async () => {
        known.pools = known.storedPools = [pool("a", "10.1.0.0/28"), pool("b", "10.1.0.32/28")];
        const pod = (name: string, ips: readonly string[], o: { namespace?: string; pools?: string } = {}): Pod => ({
            metadata: { name, namespace: o.namespace ?? "ns", annotations: annotated(o.pools) },
            status: { podIPs: ips.map((ip) => ({ ip })) },
        });
        const remove = async (...podList: readonly Pod[]): Promise<number> => {
            known.podList = podList;
            const change = { old: annotated("a"), annotations: {} };
            return (await known.reviewer().namespace("ns", change, signal)).errors.length;
        };
        expect(await remove()).toBe(0);
        expect(await remove(pod("used", ["10.1.0.5"]))).toBe(1);
        expect(await remove(pod("pending", []))).toBe(1);
        expect(await remove(pod("older", ["10.244.0.5"]), pod("other", ["10.1.0.40"]), pod("odd", ["garbage"]))).toBe(
            0,
        );
        expect(await remove(pod("own", ["10.1.0.5"], { pools: "a" }), pod("far", [], { namespace: "x" }))).toBe(0);
    });
});
