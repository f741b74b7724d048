import { beforeEach, describe, expect, it } from "@jest/globals";
import { ipAllocations, type IpAllocation, type IpPool } from "@antrea/crd";
import { clusterAddresses, Exclusions, readPool, type Pool } from "@antrea/ipam";
import {
    deployments,
    keyOf,
    namespaces,
    pods,
    statefulSets,
    type Deployment,
    type Namespace,
    type Pod,
    type StatefulSet,
} from "@antrea/kube";
import { slimWorkload, type Workload } from "../../src/cluster/slim.ts";
import { WorkloadReviewer } from "../../src/workloads/index.ts";
import { FakeApi } from "../support/fake-api.ts";
import { annotated, allocationOf, podOf, poolOf, workloadOf } from "../support/objects.ts";

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
    statefulSet: StatefulSet | undefined;

    reviewer(): WorkloadReviewer {
        const view = (pools: readonly Pool[]) => ({
            pool: (name: string) => pools.find((candidate) => candidate.name === name),
            all: () => pools,
            exclusions: new Exclusions(clusterAddresses([]), pools),
        });
        return new WorkloadReviewer({
            api: this.fake.api,
            pools: {
                ...view(this.pools),
                live: async (names) => {
                    this.asked.push(...names);
                    return view(this.storedPools);
                },
            },
            namespaces: { get: () => this.namespace },
            pods: { get: (key) => this.podList.find((one) => keyOf(one) === key) },
            deployments: { get: () => this.deployment as never },
            statefulSets: { get: () => this.statefulSet as never },
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
    it("passes by what is known; only who may have its fixed address is asked", async () => {
        known.pools = [pool("a", "10.1.0.0/28")];
        expect(await podWith("a", "10.1.0.5")).toEqual({ errors: 0, warnings: 0 });
        expect([known.fake.requests, known.asked]).toEqual([["get ipallocations 10.1.0.5"], []]);
        known.fake.requests.length = 0;
        expect(await podWith("a")).toEqual({ errors: 0, warnings: 0 });
        expect(known.fake.requests).toEqual([]);
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
        expect(known.fake.requests).toEqual(["get ipallocations 10.1.0.5"]);
    });
});

describe("an address that is taken", () => {
    const made = (kind: "Deployment" | "StatefulSet"): Deployment =>
        ({
            ...workloadOf(kind, "web", annotated("a", "10.1.0.5"), { strategy: { type: "Recreate" } }),
        }) as Deployment;

    it("is a warning too when it is not the first one asked for", async () => {
        const six = readPool(poolOf("six", { cidr: "fd00::/120", gateway: "fd00::1:1", prefixLength: 64 }) as IpPool);
        known.pools = known.storedPools = [pool("a", "10.1.0.0/28"), six];
        known.fake.put(ipAllocations, allocationOf("six", "fd00::5"));
        const object = podOf("p", annotated("a,six", "10.1.0.5,fd00::5")) as Pod;
        const { warnings } = await known.reviewer().pod({ namespace: "ns", old: undefined, object }, signal);
        expect(warnings).toEqual([expect.stringContaining("the address is taken: fd00::5 reserved for")]);
        expect(known.fake.requests).toEqual(["get ipallocations 10.1.0.5", "get ipallocations fd00-0-0-0-0-0-0-5"]);
    });

    it("is a warning for who asks for it, and not for whom it is kept", async () => {
        known.pools = known.storedPools = [pool("a", "10.1.0.0/28")];
        const pod = async (metadata: object = {}): Promise<readonly string[]> => {
            const object = podOf("p", annotated("a", "10.1.0.5")) as Pod;
            const whole = { ...object, metadata: { ...object.metadata, ...metadata } };
            const request = { namespace: "ns", old: undefined, object: whole };
            return (await known.reviewer().pod(request, signal)).warnings;
        };
        const template = async (kind: "Deployment" | "StatefulSet", namespace: string): Promise<readonly string[]> => {
            const request = { namespace, old: undefined, object: made(kind) };
            return (await known.reviewer().template(kind, request, signal)).warnings;
        };
        known.fake.put(ipAllocations, allocationOf("a", "10.1.0.5"));
        const taken =
            "annotations[ipam.antrea.io/pod-ips]: the address is taken: 10.1.0.5 reserved for StatefulSet default/web (ordinal 0); " +
            "the Pod waits until it is free, or choose another";
        expect(await pod()).toEqual([`metadata.${taken}`]);
        expect(await pod({ ownerReferences: [{ kind: "ReplicaSet", controller: true }] })).toEqual([]);
        expect(await template("StatefulSet", "default")).toEqual([]);
        expect(await template("StatefulSet", "ns")).toEqual([`spec.template.metadata.${taken}`]);
        expect(await template("Deployment", "default")).toEqual([`spec.template.metadata.${taken}`]);
        known.fake.put(ipAllocations, allocationOf("a", "10.1.0.5", { namespace: "ns", name: "p", uid: "1" }));
        expect(await pod()).toEqual([]);
        expect(await template("Deployment", "ns")).toEqual([expect.stringContaining("is taken: 10.1.0.5 of Pod ns/p")]);
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
    const pod = (name: string, o: { namespace?: string; pools?: string; phase?: string; uid?: string } = {}): Pod => ({
        metadata: {
            name,
            uid: o.uid ?? `uid of ${name}`,
            namespace: o.namespace ?? "ns",
            annotations: annotated(o.pools),
        },
        status: { phase: o.phase ?? "Running" },
    });
    const web = (pools?: string): StatefulSet => ({
        ...(workloadOf("StatefulSet", "web", annotated(pools)) as StatefulSet),
        metadata: { name: "web", namespace: "ns" },
    });
    const allocation = (
        address: string,
        o: { pool?: string; pod?: Pod; of?: "Pod" | "StatefulSet" } = {},
    ): IpAllocation => {
        const { pool: name = "a", pod: user, of = "Pod" } = o;
        const { metadata, spec } = allocationOf(name, address, user?.metadata?.name);
        const owner = {
            kind: of,
            namespace: user?.metadata?.namespace ?? "ns",
            name: of === "StatefulSet" ? "web" : (user?.metadata?.name ?? ""),
            uid: "1",
            ...(of === "StatefulSet" && { index: 0 }),
        };
        const { namespace = "", name: podName = "", uid = "" } = user?.metadata ?? {};
        const using = { namespace, name: podName, uid, nodeName: "node-1", containerID: "c", interface: "eth0" };
        return { metadata: metadata ?? {}, spec: { ...spec, owner, ...(user !== undefined && { pod: using }) } };
    };
    const change = async (old = "a", now: string | undefined = undefined): Promise<string> => {
        const annotations = { old: annotated(old), annotations: annotated(now) };
        const { errors } = await known.reviewer().namespace("ns", annotations, signal);
        return errors.map(({ rule }) => rule).join("\n");
    };
    /** What is stored, and, unless it is too young, known. */
    const there = (
        allocations: readonly IpAllocation[],
        o: { pods?: readonly Pod[]; set?: StatefulSet; isKnown?: boolean } = {},
    ): void => {
        known = new Known();
        known.pools = known.storedPools = [pool("a", "10.1.0.0/28"), pool("b", "10.1.0.32/28")];
        for (const one of allocations) known.fake.put(ipAllocations, one);
        for (const one of o.pods ?? []) known.fake.put(pods, one);
        if (o.set !== undefined) known.fake.put(statefulSets, o.set);
        if (o.isKnown === false) return;
        known.podList = o.pods ?? [];
        known.statefulSet = o.set;
    };

    it.each([
        ["known", true],
        ["too young to be known", false],
    ])("is used by Pods with an address of its pools, %s", async (_name, isKnown) => {
        const used = pod("used");
        there([allocation("10.1.0.5", { pod: used })], { pods: [used], isKnown });
        expect(await change()).toMatch(/cannot be removed \(it was "a"\).*: Pod ns\/used \(10\.1\.0\.5\); delete/);
        expect(await change("a", "b")).toMatch(/cannot be changed/);
        expect(await change("a", " a,")).toBe("");
    });

    it("is used by a Pod whose second address is the one of its pools", async () => {
        const used = pod("used");
        const allocations = [allocation("fd00::5", { pool: "gone", pod: used }), allocation("10.1.0.5", { pod: used })];
        there(allocations, { pods: [used] });
        expect(await change()).toMatch(/Pod ns\/used \(10\.1\.0\.5\)/);
    });

    it("is used by no Pod that has none: one that waits, is older, has its own list, has ended, or is gone", async () => {
        const [own, ended] = [pod("own", { pools: "a" }), pod("ended", { phase: "Succeeded" })];
        const [other, far] = [pod("other"), pod("far", { namespace: "x" })];
        const allocations = [
            allocation("10.1.0.3", { pod: own }),
            allocation("10.1.0.4", { pod: ended }),
            allocation("10.1.0.40", { pool: "b", pod: other }),
            allocation("10.1.0.6", { pod: far }),
            allocation("10.1.0.7", { pod: pod("gone") }),
            allocation("10.1.0.8", { pod: pod("again", { uid: "before" }) }),
        ];
        const list = [own, ended, other, far, pod("waits", { phase: "Pending" }), pod("again")];
        for (const isKnown of [true, false]) {
            there(allocations, { pods: list, isKnown });
            expect(await change()).toBe("");
        }
    });

    it("may change a pool that there is not, though Pods wait for it", async () => {
        there([], { pods: [pod("z2", { phase: "Pending" })] });
        known.pools = known.storedPools = [pool("b", "10.1.0.32/28")];
        expect(await change("nosuch", "b")).toBe("");
        expect(await change("nosuch")).toBe("");
    });

    it("is used by a static Pod, which its allocation knows by another UID", async () => {
        const mirror = pod("static-node-1", { uid: "of the mirror" });
        const hash = { "kubernetes.io/config.hash": "0123", "kubernetes.io/config.mirror": "0123" };
        const stored = { ...mirror, metadata: { ...mirror.metadata, annotations: hash } };
        there([allocation("10.1.0.5", { pod: pod("static-node-1", { uid: "0123" }) })], {
            pods: [stored],
            isKnown: false,
        });
        known.podList = [mirror];
        expect(await change()).toMatch(/Pod ns\/static-node-1/);
    });

    it.each([
        ["known", true],
        ["too young to be known", false],
    ])("is used by a StatefulSet that has reservations and no Pod, %s", async (_name, isKnown) => {
        const reserved = ["10.1.0.5", "10.1.0.6"].map((address) => allocation(address, { of: "StatefulSet" }));
        there(reserved, { set: web(), isKnown });
        expect(await change("a", "b")).toMatch(/: StatefulSet ns\/web \(2 reserved addresses\); delete/);
        // One that the webhook keeps nothing of but its name.
        if (isKnown) known.statefulSet = { metadata: { name: "web", namespace: "ns" } };
        expect(await change("a", "b")).toMatch(/StatefulSet ns\/web/);
        there(reserved, { set: web("a"), isKnown });
        expect(await change("a", "b")).toBe("");
        there(reserved, { isKnown });
        expect(await change("a", "b")).toBe("");
        const host = { spec: { hostNetwork: true, containers: [] } };
        const onHost = { ...web(), spec: { ...web().spec, template: host } } as unknown as StatefulSet;
        there(reserved, { set: onHost, isKnown });
        if (isKnown) known.statefulSet = slimWorkload(onHost as unknown as Workload) as unknown as StatefulSet;
        expect(await change("a", "b")).toBe("");
        there([allocation("10.1.0.40", { pool: "b", of: "StatefulSet" })], { set: web(), isKnown });
        expect(await change("a", "b")).toBe("");
    });
});
