import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { ipPools, type IpPool } from "@antrea/crd";
import { formatPrefix, parseIp, rangeOf } from "@antrea/ip";
import {
    cronJobs,
    daemonSets,
    deployments,
    namespaces,
    nodes,
    pods,
    serviceCidrs,
    statefulSets,
    type Deployment,
    type Pod,
    type StatefulSet,
} from "@antrea/kube";
import { eventually } from "@antrea/kube/testing";
import { MemoryLog } from "@antrea/runtime/testing";
import { ClusterCache } from "../../src/cluster/index.ts";
import { FakeApi } from "../support/fake-api.ts";
import { annotated, podOf, poolOf, workloadOf } from "../support/objects.ts";

const signal = new AbortController().signal;
let fake: FakeApi;
let cache: ClusterCache;
let stop: AbortController;

beforeEach(async () => {
    fake = new FakeApi();
    stop = new AbortController();
    cache = new ClusterCache({ api: fake.api, logger: new MemoryLog().logger });
    await cache.part.start?.(stop.signal);
    await eventually(() => cache.hasSynced);
    fake.requests.length = 0;
});
afterEach(async () => {
    stop.abort();
    await cache.part.stop?.();
});

const rangeFrom = (start: string, end = start): Record<string, unknown> => ({
    start,
    end,
    gateway: "10.1.0.1",
    prefixLength: 24,
});
const put = (name: string, generation: number, ...ranges: Record<string, unknown>[]): void => {
    const pool = poolOf(name, ...ranges) as IpPool;
    fake.put(ipPools, { ...pool, metadata: { name, generation } });
};
const at = (text: string): ReturnType<typeof rangeOf> => rangeOf(parseIp(text));
const keysAt = (view: { overlapping: typeof cache.pools.overlapping }, text: string): readonly string[] =>
    view.overlapping(at(text)).map(({ key }) => key);

describe("the pools", () => {
    it("follow their specs, not their status", async () => {
        put("a", 1, rangeFrom("10.1.0.5", "10.1.0.9"));
        await fake.deliver();
        expect(keysAt(cache.pools, "10.1.0.7")).toEqual(["a"]);
        const before = cache.pools.pool("a");
        const { exclusions } = cache.pools;
        put("a", 1, rangeFrom("10.1.0.5", "10.1.0.9"));
        await fake.deliver();
        expect(cache.pools.pool("a")).toBe(before);
        expect(cache.pools.exclusions).toBe(exclusions);
        put("a", 2, rangeFrom("10.1.0.20"));
        await fake.deliver();
        expect(keysAt(cache.pools, "10.1.0.7")).toEqual([]);
        expect(keysAt(cache.pools, "10.1.0.20")).toEqual(["a"]);
        expect(cache.pools.exclusions).not.toBe(exclusions);
        fake.remove(ipPools, "a");
        await fake.deliver();
        expect(keysAt(cache.pools, "10.1.0.20")).toEqual([]);
        expect([...cache.pools.all()]).toEqual([]);
    });

    it("are counted by one small request; all are read when the number is another", async () => {
        expect(await cache.pools.counted(signal)).toBe(cache.pools);
        put("a", 1, rangeFrom("10.1.0.5"));
        put("b", 1, rangeFrom("10.1.0.6"));
        await fake.deliver();
        fake.requests.length = 0;
        expect(await cache.pools.counted(signal)).toBe(cache.pools);
        expect(fake.requests).toEqual(["count /apis/crd.antrea.io/v1alpha2/ippools?limit=100"]);
        put("c", 1, rangeFrom("10.1.0.7"));
        const now = await cache.pools.counted(signal);
        expect([keysAt(now, "10.1.0.7"), keysAt(cache.pools, "10.1.0.7")]).toEqual([["c"], []]);
        expect(fake.requests.at(-1)).toBe("list ippools");
        await fake.deliver();
        expect(await cache.pools.counted(signal)).toBe(cache.pools);
    });

    it.each([
        ["deleted while another is made", () => [fake.remove(ipPools, "b"), put("c", 1, rangeFrom("10.1.0.7"))]],
        ["given other ranges", () => [put("b", 2, rangeFrom("10.1.0.7"))]],
        [
            "deleted and made again with other ranges",
            () => {
                fake.remove(ipPools, "b");
                const made = poolOf("b", rangeFrom("10.1.0.7")) as IpPool;
                fake.put(ipPools, { ...made, metadata: { name: "b", uid: "another", generation: 1 } });
            },
        ],
    ])("are read anew when one was %s, although their number is the same", async (_what, change) => {
        put("a", 1, rangeFrom("10.1.0.5"));
        put("b", 1, rangeFrom("10.1.0.6"));
        await fake.deliver();
        change();
        const now = await cache.pools.counted(signal);
        expect([keysAt(now, "10.1.0.7"), keysAt(now, "10.1.0.6")]).toEqual([[expect.any(String)], []]);
        expect(fake.requests.at(-1)).toBe("list ippools");
        await fake.deliver();
        expect(await cache.pools.counted(signal)).toBe(cache.pools);
    });

    it("that are many are counted beyond the first hundred", async () => {
        const names = Array.from({ length: 130 }, (_, index) => `p${index}`);
        for (const [index, name] of names.entries()) put(name, 1, rangeFrom(`10.1.0.${index + 2}`));
        await fake.deliver();
        expect(await cache.pools.counted(signal)).toBe(cache.pools);
        put("c", 1, rangeFrom("10.1.0.200"));
        expect(keysAt(await cache.pools.counted(signal), "10.1.0.200")).toEqual(["c"]);
        await fake.deliver();
        fake.countsRest = false;
        expect(keysAt(await cache.pools.counted(signal), "10.1.0.200")).toEqual(["c"]);
        expect(fake.requests.at(-1)).toBe("list ippools");
    });

    it("of some names are seen as they are stored now", async () => {
        put("a", 1, rangeFrom("10.1.0.5"));
        put("b", 1, rangeFrom("10.1.0.5"));
        await fake.deliver();
        put("a", 2, rangeFrom("10.1.0.7"));
        put("new", 1, rangeFrom("10.1.0.8"));
        fake.remove(ipPools, "b");
        const live = await cache.pools.live(["a", "new", "b", "none", "a"], signal);
        expect(fake.requests.filter((request) => request.startsWith("get"))).toHaveLength(4);
        expect(["10.1.0.5", "10.1.0.7", "10.1.0.8"].map((ip) => keysAt(live, ip))).toEqual([[], ["a"], ["new"]]);
        expect([live.pool("b"), live.pool("none")]).toEqual([undefined, undefined]);
        expect([...live.all()].map(({ name }) => name)).toEqual(["a", "new"]);
        // Many names are read at once.
        await cache.pools.live(
            Array.from({ length: 17 }, (_, index) => `p${index}`),
            signal,
        );
        expect(fake.requests.at(-1)).toBe("list ippools");
    });
});

describe("who names a pool", () => {
    it("is everyone with the annotation for it, until it is gone", async () => {
        fake.put(namespaces, { metadata: { name: "ns", annotations: annotated("a, b") } });
        const pod = podOf("pod", annotated("a")) as Pod;
        fake.put(pods, { ...pod, metadata: { ...pod.metadata, namespace: "ns" } });
        const host = podOf("host", annotated("a"), { hostNetwork: true }) as Pod;
        fake.put(pods, { ...host, metadata: { ...host.metadata, namespace: "ns" } });
        const [web, db] = [
            workloadOf("Deployment", "web", annotated("a")) as Deployment,
            workloadOf("StatefulSet", "db", annotated("b")) as StatefulSet,
        ];
        fake.put(deployments, { ...web, metadata: { ...web.metadata, namespace: "ns" } });
        fake.put(statefulSets, { ...db, metadata: { ...db.metadata, namespace: "ns" } });
        await fake.deliver();
        expect(cache.users.of("a")).toEqual(["Namespace ns", "Pod ns/pod", "Deployment ns/web"]);
        // Other things of it are written all the time.
        const labels = { a: "b" };
        fake.put(namespaces, { metadata: { name: "ns", labels, annotations: annotated("a, b") } });
        fake.put(deployments, { ...web, metadata: { ...web.metadata, namespace: "ns", labels } });
        await fake.deliver();
        expect(cache.users.of("a")).toEqual(["Pod ns/pod", "Namespace ns", "Deployment ns/web"]);
        expect(cache.users.of("b")).toEqual(["StatefulSet ns/db", "Namespace ns"]);
        expect(cache.users.of("c")).toEqual([]);
        fake.put(namespaces, { metadata: { name: "ns", annotations: annotated("c") } });
        fake.remove(pods, "ns/pod");
        fake.remove(deployments, "ns/web");
        await fake.deliver();
        expect([cache.users.of("a"), cache.users.of("c")]).toEqual([[], ["Namespace ns"]]);
    });

    it("is the template of a DaemonSet or CronJob, though no Pod of it runs", async () => {
        const template = { metadata: { annotations: annotated("a") }, spec: { containers: [] } };
        const metadata = { name: "one", namespace: "ns" };
        const daemon = { metadata, spec: { selector: {}, template } };
        fake.put(daemonSets, daemon);
        fake.put(cronJobs, { metadata, spec: { schedule: "@daily", jobTemplate: { spec: { template } } } });
        await fake.deliver();
        expect(cache.users.of("a")).toEqual(["DaemonSet ns/one", "CronJob ns/one"]);
        fake.put(daemonSets, { ...daemon, metadata: { ...metadata, labels: { a: "b" } } });
        fake.remove(cronJobs, "ns/one");
        await fake.deliver();
        expect(cache.users.of("a")).toEqual(["DaemonSet ns/one"]);
    });

    it("keeps little of what it knows", async () => {
        const pod = podOf("pod", { ...annotated(undefined, "10.1.0.5"), other: "x".repeat(1000) }) as Pod;
        const status = { phase: "Running", podIPs: [{ ip: "10.1.0.5" }], message: "y".repeat(1000) };
        fake.put(pods, { ...pod, metadata: { ...pod.metadata, namespace: "ns", labels: { a: "b" } }, status });
        const web = workloadOf("Deployment", "web", annotated("a"), { replicas: 3 }) as Deployment;
        fake.put(deployments, { ...web, metadata: { name: "web", namespace: "ns", labels: { a: "b" } } });
        await fake.deliver();
        expect(cache.users.pods.list()).toEqual([
            { metadata: { ...identity("ns/pod"), annotations: annotated(undefined, "10.1.0.5") } },
        ]);
        expect(cache.users.deployments.get("ns/web")).toEqual({
            metadata: identity("ns/web"),
            spec: { replicas: 3, template: { metadata: { annotations: annotated("a") } } },
        });
        // That it is on the host network: it is no user of the pools of its Namespace.
        const host = { metadata: { annotations: annotated("a") }, spec: { containers: [], hostNetwork: true } };
        const db = workloadOf("StatefulSet", "db", {}, { template: host }) as StatefulSet;
        fake.put(statefulSets, { ...db, metadata: { name: "db", namespace: "ns" } });
        await fake.deliver();
        expect(cache.users.statefulSets.get("ns/db")).toEqual({
            metadata: identity("ns/db"),
            spec: { replicas: 1, template: { spec: { hostNetwork: true } } },
        });
        expect(cache.users.of("a")).toEqual(["Deployment ns/web"]);
    });

    function identity(uid: string): object {
        const [namespace, name] = uid.split("/");
        return { name, namespace, uid, resourceVersion: expect.any(String) };
    }
});

describe("the cluster's own addresses", () => {
    const node = (conditions: unknown): Parameters<typeof fake.put>[1] =>
        ({
            metadata: { name: "n" },
            spec: { podCIDRs: ["10.244.1.0/24", "garbage"] },
            status: {
                addresses: [
                    { type: "InternalIP", address: "172.18.0.2" },
                    { type: "Hostname", address: "n" },
                ],
                conditions,
            },
        }) as never;

    it("are those of Nodes and Services, and the same object until they change", async () => {
        fake.put(nodes, node([]));
        fake.put(serviceCidrs, { metadata: { name: "kubernetes" }, spec: { cidrs: ["10.96.0.0/16"] } });
        await fake.deliver();
        const { current } = cache.addresses;
        expect(current.nodeAddresses).toEqual([[parseIp("172.18.0.2")]]);
        expect(current.podCidrs.map(({ length }) => length)).toEqual([24]);
        expect(current.serviceCidrs.map(({ length }) => length)).toEqual([16]);
        fake.put(nodes, node(["kubelet is well"]));
        await fake.deliver();
        expect(cache.addresses.current).toBe(current);
        expect(current.bridgedNodes).toEqual([]);
        const bridged = node([]);
        const annotations = { "node.antrea.io/mac-address": "02:00:00:00:00:01", other: "x" };
        fake.put(nodes, { ...bridged, metadata: { ...bridged.metadata, annotations } });
        await fake.deliver();
        expect(cache.addresses.current.bridgedNodes).toEqual([parseIp("172.18.0.2")]);
        fake.remove(nodes, "n");
        await fake.deliver();
        expect(cache.addresses.current.nodeAddresses).toEqual([]);
    });

    it("are what no pool hands out, as soon as they change", async () => {
        put("a", 1, rangeFrom("10.1.0.5", "10.1.0.9"));
        await fake.deliver();
        const reason = (): string | undefined => {
            const pool = cache.pools.pool("a");
            return pool && cache.pools.exclusions.reason(pool, parseIp("10.1.0.7"));
        };
        expect(reason()).toBeUndefined();
        const one = { metadata: { name: "n" }, status: { addresses: [{ type: "InternalIP", address: "10.1.0.7" }] } };
        fake.put(nodes, one as never);
        await fake.deliver();
        expect(reason()).toBe("is an address of a Node");
        fake.remove(nodes, "n");
        fake.put(serviceCidrs, { metadata: { name: "kubernetes" }, spec: { cidrs: ["10.1.0.0/24"] } });
        await fake.deliver();
        expect(reason()).toBe("lies in a Service CIDR");
    });

    it("have the podCIDR of a Node without spec.podCIDRs, and whole subnets of what has host bits", async () => {
        fake.put(nodes, { metadata: { name: "n" }, spec: { podCIDR: "10.244.1.5/24" } });
        fake.put(serviceCidrs, { metadata: { name: "kubernetes" }, spec: { cidrs: ["10.96.0.1/16"] } });
        await fake.deliver();
        const { podCidrs, serviceCidrs: ofServices } = cache.addresses.current;
        expect([...podCidrs, ...ofServices].map(formatPrefix)).toEqual(["10.244.1.0/24", "10.96.0.0/16"]);
    });
});
