import { afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { podIpsAnnotation, poolsAnnotation } from "@antrea/crd";
import { formatIp } from "@antrea/ip";
import { KubeError, namespaces, pods } from "@antrea/kube";
import { eventually } from "@antrea/kube/testing";
import { away } from "./support/fake-api.ts";
import { FakeCluster } from "./support/fake-cluster.ts";
import { type TestPoolAgent } from "./support/test-agent.ts";

let cluster: FakeCluster;
let agent: TestPoolAgent;

const identity = { namespace: "ns", name: "p", uid: "u" };

function addNamespace(pools?: string): void {
    const annotations = pools === undefined ? {} : { [poolsAnnotation]: pools };
    cluster.api.put(namespaces, { metadata: { name: "ns", annotations } });
}

function addPod(annotations: Readonly<Record<string, string>> = {}, change: object = {}): void {
    cluster.api.put(pods, {
        metadata: { namespace: "ns", name: "p", uid: "u", annotations },
        spec: { nodeName: "a" },
        ...change,
    } as never);
}

function many(count: number): string {
    return Array.from({ length: count }, (_, at) => `p${at}`).join();
}

function resolve(pod = identity): Promise<unknown> {
    return agent.pools.podPools.resolve(pod, AbortSignal.timeout(60_000)).then(
        (wanted) => wanted && { ...wanted, fixed: wanted.fixed.map(formatIp) },
        (error: { code?: string; message: string }) => `${error.code}: ${error.message}`,
    );
}

function asked(kind: string): number {
    return cluster.api.requests.filter((request) => request.startsWith(`find ${kind}`)).length;
}

/** Starts the agent and waits until it knows what is there. */
async function start(): Promise<void> {
    agent = cluster.agent("a");
    await agent.pools.own.synced(AbortSignal.timeout(60_000));
    await new Promise((done) => setTimeout(done, 20));
    cluster.api.requests.length = 0;
}

beforeEach(() => {
    cluster = new FakeCluster();
    cluster.addPool("pool1", { cidr: "10.2.0.0/24", gateway: "10.2.0.1" });
    cluster.addPool("pool2", { cidr: "10.3.0.0/24", gateway: "10.3.0.1" });
    cluster.addPool("pool6", { cidr: "fd02::/120", gateway: "fd02::1" });
});
afterEach(() => cluster[Symbol.asyncDispose]());

describe("a Pod that does not exist", () => {
    it("is identified by what kubelet knows of it: a UID, the hash of a static Pod's file, or nothing", async () => {
        addNamespace();
        await start();
        expect(await resolve({ ...identity, uid: "" })).toBe("POD_GONE: Pod ns/p no longer exists");
        expect(await resolve({ ...identity, uid: "a-b" })).toBe("POD_GONE: Pod ns/p with UID a-b no longer exists");
        expect(await resolve({ ...identity, uid: "hash" })).toMatch(
            /^POD_UNKNOWN: static Pod ns\/p \(hash\) is not known/,
        );
    });
});

describe("what a Pod asks for", () => {
    it("is what its own annotation names, without a question to the API server", async () => {
        addNamespace("pool2");
        addPod({ [poolsAnnotation]: " pool1 ,, pool6" });
        await start();
        expect(await resolve()).toEqual({ pools: ["pool1", "pool6"], from: "Pod", fixed: [], statefulSet: undefined });
        expect(cluster.api.requests).toEqual([]);
    });

    it("is what its Namespace's annotation names, after one question about the Namespace", async () => {
        addNamespace("pool2");
        addPod({ [podIpsAnnotation]: "10.3.0.7" });
        await start();
        expect(await resolve()).toMatchObject({ pools: ["pool2"], from: "Namespace", fixed: ["10.3.0.7"] });
        expect(cluster.api.requests).toEqual(["find namespaces ns"]);
    });

    it("is nothing for a Pod without annotations, after one question about the Namespace for all that start", async () => {
        addNamespace();
        addPod();
        await start();
        expect(await Promise.all([1, 2, 3].map(() => resolve()))).toEqual([undefined, undefined, undefined]);
        expect(asked("namespaces")).toBe(1);
    });

    it("is nothing for a Pod of the Node's network", async () => {
        addNamespace("pool1");
        addPod({ [poolsAnnotation]: "pool1" }, { spec: { nodeName: "a", hostNetwork: true } });
        await start();
        expect(await resolve()).toBeUndefined();
    });

    it("names the place in its StatefulSet", async () => {
        addNamespace("pool1");
        const owner = { apiVersion: "apps/v1", kind: "StatefulSet", name: "web", uid: "s", controller: true };
        const metadata = { namespace: "ns", name: "web-3", uid: "u", ownerReferences: [owner] };
        addPod({}, { metadata });
        await start();
        const wanted = await resolve({ ...identity, name: "web-3" });
        expect(wanted).toMatchObject({ statefulSet: { name: "web", ordinal: 3 } });
    });

    it.each<[string, Readonly<Record<string, string>>, string | undefined, string]>([
        ["an empty list", { [poolsAnnotation]: " , " }, "pool1", "must name at least one IPPool"],
        ["a pool twice", { [poolsAnnotation]: "pool1,pool1" }, undefined, "more than once"],
        ["a Namespace's bad list", {}, "pool1,pool1", "of Namespace ns"],
        ["a list that is too long", { [poolsAnnotation]: many(17) }, undefined, "of Pod ns/p: it names 17 IPPools"],
        ["a Namespace's list that is too long", {}, many(17), "of Namespace ns: it names 17 IPPools; at most 16"],
        ["an address without a pool", { [podIpsAnnotation]: "10.2.0.9" }, undefined, "needs an IPPool"],
        ["text that is no address", { [podIpsAnnotation]: "10.2.0.300" }, "pool1", "10.2.0.300"],
        ["two addresses of a family", { [podIpsAnnotation]: "10.2.0.9,10.2.0.8" }, "pool1", "at most one"],
        ["an address of no pool", { [podIpsAnnotation]: "10.9.0.9" }, "pool1", "is not in its ranges"],
        ["two pools of its family", { [podIpsAnnotation]: "10.2.0.9" }, "pool1,pool2", "exactly one IPPool"],
    ])("breaks a rule: %s", async (_what, annotations, namespace, text) => {
        addNamespace(namespace);
        addPod(annotations);
        await start();
        expect(await resolve()).toMatch(/^BAD_ANNOTATION: /);
        expect(await resolve()).toContain(text);
    });

    it.each<[string, Readonly<Record<string, string>>]>([
        ["without fixed addresses", {}],
        ["with a fixed address", { [podIpsAnnotation]: "10.2.0.9" }],
    ])("of an annotation with 62,000 names is refused without a question for one, %s", async (_what, annotations) => {
        addNamespace(many(62_000));
        addPod(annotations);
        await start();
        const finds = jest.spyOn(agent.pools.cache, "find");
        expect(await resolve()).toContain("it names 62000 IPPools; at most 16 are allowed");
        expect(finds).not.toHaveBeenCalled();
        expect(asked("ippools")).toBe(0);
    });

    it("may be a blank list of addresses", async () => {
        addNamespace();
        addPod({ [podIpsAnnotation]: "  " });
        await start();
        expect(await resolve()).toBeUndefined();
    });
});

describe("which Pod it is", () => {
    const mirrorOf = (hash: string): Readonly<Record<string, string>> => ({
        "kubernetes.io/config.hash": hash,
        "kubernetes.io/config.mirror": hash,
    });

    it("is identified by the UID, of a static Pod by the hash of its file", async () => {
        addNamespace();
        addPod({ [poolsAnnotation]: "pool1", ...mirrorOf("hash") });
        await start();
        expect(await resolve({ ...identity, uid: "hash" })).toMatchObject({ pools: ["pool1"] });
        expect(asked("pods")).toBe(0);
        expect(agent.pools.pods.objectUid({ ...identity, uid: "hash" })).toBe("u");
    });

    it("is asked for when the cache lacks it, has another of the name, or CNI passes no UID", async () => {
        addNamespace("pool2");
        await start();
        cluster.api.holdEvents();
        addPod({ [poolsAnnotation]: "pool1" });
        expect(await resolve()).toMatchObject({ pools: ["pool1"] });
        expect(await resolve({ ...identity, uid: "" })).toMatchObject({ pools: ["pool1"] });
        expect(asked("pods")).toBe(2);
    });

    it("is gone when the API server knows none of that UID: that is no missing annotation", async () => {
        addNamespace();
        await start();
        const uid = "0b7f1c9e-5d0e-4c58-9a53-4a2d5a4fbb9d";
        expect(await resolve({ ...identity, uid })).toMatch(/^POD_GONE: Pod ns\/p with UID .* no longer exists/);
        addPod();
        expect(await resolve({ ...identity, uid })).toMatch(/^POD_GONE/);
    });

    it("is not known yet when a static Pod has no mirror, also if one of an earlier file is there", async () => {
        addNamespace();
        await start();
        const pod = { ...identity, uid: "b0c1d2e3f4a5968778695a4b3c2d1e0f" };
        expect(await resolve(pod)).toMatch(/^POD_UNKNOWN: static Pod ns\/p .*mirror Pod$/);
        addPod(mirrorOf("0".repeat(32)));
        expect(await resolve(pod)).toMatch(/^POD_UNKNOWN/);
        addPod({ "kubernetes.io/config.hash": pod.uid });
        expect(await resolve(pod)).toMatch(/^POD_UNKNOWN/);
        addPod(mirrorOf(pod.uid));
        await eventually(async () => (await resolve(pod)) === undefined);
    });

    it("need not be asked again for the next sandbox of a Pod without a pool, while the API server is away", async () => {
        addNamespace();
        addPod();
        await start();
        expect(await resolve()).toBeUndefined();
        cluster.api.fault = () => ({ refuse: away() });
        expect(await resolve()).toBeUndefined();
        // A watch that has lost the Pod makes no difference; another Pod of the name does.
        cluster.api.remove(pods, "ns/p");
        await eventually(() => agent.pools.pods.known(identity) === undefined);
        expect(await resolve()).toBeUndefined();
        expect(await resolve({ ...identity, uid: "another" })).toMatch(/^API_AWAY/);
    });

    it("is asked again for a Pod that was in a pool", async () => {
        addNamespace("pool1");
        addPod();
        await start();
        expect(await resolve()).toMatchObject({ pools: ["pool1"] });
        cluster.api.fault = () => ({ refuse: away() });
        // What was read is used for a second.
        await eventually(async () => /^API_AWAY/.test(String(await resolve())));
    });

    it("cannot be read while the API server is away", async () => {
        addNamespace();
        await start();
        cluster.api.fault = () => ({ refuse: away() });
        expect(await resolve()).toMatch(/^API_AWAY: finding the IPPools of Pod ns\/p/);
    });
});

describe("what the Namespace specifies", () => {
    it("is asked live when the cache knows of no annotation: it may have come with the Pod", async () => {
        addNamespace();
        addPod();
        await start();
        cluster.api.holdEvents();
        addNamespace("pool1");
        expect(await resolve()).toMatchObject({ pools: ["pool1"], from: "Namespace" });
    });

    it("is asked again a second later", async () => {
        addNamespace();
        addPod();
        await start();
        cluster.api.holdEvents();
        expect(await resolve()).toBeUndefined();
        addNamespace("pool1");
        await eventually(async () => (await resolve()) !== undefined);
    });

    it("is that of the Namespace the Pod is in, not of an earlier one of its name", async () => {
        addNamespace("pool1");
        await start();
        cluster.api.holdEvents();
        cluster.api.remove(namespaces, "ns");
        addNamespace("pool2");
        addPod();
        expect(await resolve()).toMatchObject({ pools: ["pool2"], from: "Namespace" });
    });

    it.each([
        ["away", away()],
        ["overloaded", new KubeError("TOO_MANY_REQUESTS", "too many requests")],
        ["slow", new KubeError("TIMEOUT", "no answer within 3000 ms", { outcomeUnknown: true })],
        ["refusing a token that is just rotated", new KubeError("UNAUTHORIZED", "Unauthorized")],
    ])("is never nothing while the API server is %s: the annotation may have come with the Pod", async (_, refuse) => {
        addNamespace();
        addPod();
        await start();
        cluster.api.fault = () => ({ refuse });
        await expect(agent.pools.podPools.resolve(identity, AbortSignal.timeout(60_000))).rejects.toMatchObject({
            code: "API_AWAY",
            fault: "timeout",
        });
        cluster.api.fault = () => undefined;
        expect(await resolve()).toBeUndefined();
    });

    it("is not what a question found that began before the Pod was there", async () => {
        addNamespace();
        addPod();
        await start();
        expect(await resolve()).toBeUndefined();
        addNamespace("pool1");
        const second = { ...identity, name: "p2", uid: "u2" };
        const metadata = { namespace: "ns", name: "p2", uid: "u2" };
        addPod({}, { metadata });
        await eventually(() => agent.pools.pods.known(second) !== undefined);
        expect(await resolve(second)).toMatchObject({ pools: ["pool1"] });
        // And one that the watch has not reported yet.
        expect(asked("namespaces")).toBe(2);
        cluster.api.holdEvents();
        addNamespace("pool2");
        addPod({}, { metadata: { ...metadata, name: "p3", uid: "u3" } });
        expect(await resolve({ ...identity, name: "p3", uid: "u3" })).toMatchObject({ pools: ["pool2"] });
    });

    it("is never nothing when nobody knows the Namespace", async () => {
        addPod();
        await start();
        expect(await resolve()).toMatch(/^POD_GONE: Namespace ns/);
        cluster.api.fault = () => ({ refuse: away() });
        expect(await resolve()).toMatch(/^API_AWAY/);
    });
});
