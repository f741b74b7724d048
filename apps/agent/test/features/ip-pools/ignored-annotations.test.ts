import { expect, it } from "@jest/globals";
import { KubeError, namespaces, pods, type ApiClient, type EventInput, type Pod } from "@antrea/kube";
import { MemoryLog } from "@antrea/runtime/testing";
import { IgnoredAnnotations, type SubnetInterface } from "../../../src/features/ip-pools/ignored-annotations.ts";

const signal = new AbortController().signal;
const pools = { "ipam.antrea.io/ippools": "pool1" };

function podIn(namespace: string, name: string, annotations: Record<string, string> = {}): Pod {
    return { metadata: { namespace, name, uid: `uid-${name}`, annotations }, spec: { containers: [] } };
}

/** A cluster with one annotated Namespace, "team", and the Pods of one Node, of which some are wired from its subnet. */
function setUp(podsOfNode: Pod[]) {
    const log = new MemoryLog();
    const recorded: EventInput[] = [];
    const wired: SubnetInterface[] = [];
    const requests: string[] = [];
    const failing = { list: false, find: false };
    const request = <T>(verb: "list" | "find", what: string, answer: T): Promise<T> => {
        requests.push(`${verb} ${what}`);
        return failing[verb] ? Promise.reject(new KubeError("TIMEOUT", "no answer")) : Promise.resolve(answer);
    };
    const api = {
        list: (resource: unknown) => {
            expect(resource).toBe(pods);
            return request("list", "pods", { items: podsOfNode, resourceVersion: "1" });
        },
        find: (resource: unknown, ref: { name: string; namespace?: string }) => {
            if (resource === pods) {
                const found = podsOfNode.find(
                    ({ metadata }) => metadata?.namespace === ref.namespace && metadata?.name === ref.name,
                );
                return request("find", `pod ${ref.name}`, found);
            }
            expect(resource).toBe(namespaces);
            const annotations = ref.name === "team" ? pools : {};
            return request("find", `namespace ${ref.name}`, { metadata: { name: ref.name, annotations } });
        },
    } as unknown as Pick<ApiClient, "list" | "find">;
    const ignored = new IgnoredAnnotations(
        { api, events: { record: (event) => void recorded.push(event) }, interfaces: () => wired, logger: log.logger },
        { nodeName: "worker" },
    );
    const wire = (name: string, change: Partial<SubnetInterface> = {}): void => {
        const podNamespace = podsOfNode.find(({ metadata }) => metadata?.name === name)?.metadata?.namespace ?? "";
        const identity = {
            containerId: `c-${name}`,
            ifName: "eth0",
            podNamespace,
            podName: name,
            podUid: `uid-${name}`,
        };
        wired.push({ ...identity, isRebuilt: false, ...change });
    };
    const reportedPods = (): readonly string[] => recorded.map(({ regarding }) => regarding.name);
    return { ignored, recorded, requests, failing, log, wire, wired, reportedPods, podsOfNode };
}

it("one warning on each Pod that is wired without its pool, and on no other", async () => {
    const cluster = setUp([
        podIn("default", "plain"),
        podIn("default", "own", pools),
        podIn("default", "fixed", { "ipam.antrea.io/pod-ips": "10.2.0.12" }),
        podIn("team", "inherits"),
        // Has its address of the pool, from the time when the gate was on.
        podIn("team", "pooled", pools),
    ]);
    for (const name of ["plain", "own", "fixed"]) cluster.wire(name);
    await cluster.ignored.check(signal);
    expect(cluster.reportedPods()).toEqual(["own", "fixed"]);
    cluster.wire("inherits");
    for (let round = 0; round < 3; round += 1) await cluster.ignored.check(signal);
    expect(cluster.reportedPods()).toEqual(["own", "fixed", "inherits"]);
    expect(cluster.recorded[0]).toMatchObject({
        type: "Warning",
        reason: "IPPoolsIgnored",
        regarding: { kind: "Pod", uid: "uid-own" },
        note: expect.stringMatching(
            /AntreaIPAM is off, so this Pod has addresses of its Node's subnet.*create the Pod/,
        ),
    });
    const lines = cluster.log.messages().filter((text) => text === "annotations of IPPools are ignored");
    expect(lines).toHaveLength(1);
});

it("reports what to do on the Node of a static Pod: deleting its mirror Pod would give it no other address", async () => {
    const mirrors = { "kubernetes.io/config.hash": "hash", "kubernetes.io/config.mirror": "hash" };
    const { ignored, recorded, wire } = setUp([podIn("default", "own", { ...pools, ...mirrors })]);
    wire("own", { podUid: "hash" });
    await ignored.check(signal);
    expect(recorded.map(({ note }) => note)).toEqual([
        expect.stringMatching(/=true and move the manifest of this static Pod out of its directory and back$/),
    ]);
});

it("is reported of the next sandbox's Pod too, when that is another of the name", async () => {
    const { ignored, wire, wired, reportedPods, podsOfNode } = setUp([podIn("default", "own", pools)]);
    wire("own");
    await ignored.check(signal);
    podsOfNode.splice(0, 1, {
        ...podIn("default", "own", pools),
        metadata: { ...podIn("default", "own", pools).metadata, uid: "new" },
    });
    wired.splice(0);
    await ignored.check(signal);
    wire("own", { podUid: "new" });
    await ignored.check(signal);
    expect(reportedPods()).toEqual(["own", "own"]);
});

it("at the start of an agent asks once for all, and does not report what the Namespace has now for Pods from before", async () => {
    const names = Array.from({ length: 20 }, (_, at) => `p${at}`);
    const { ignored, wire, reportedPods, requests } = setUp([
        ...names.map((name) => podIn("team", name)),
        podIn("default", "own", pools),
    ]);
    for (const name of [...names, "own"]) wire(name, { isRebuilt: true });
    wire("", { podName: "", podUid: "uid-of-a-link" });
    await ignored.check(signal);
    expect([reportedPods(), requests]).toEqual([["own"], ["list pods"]]);
});

it("asks for nothing while no Pod is added", async () => {
    const { ignored, requests, wire } = setUp([podIn("default", "a"), podIn("default", "b")]);
    await ignored.check(signal);
    expect(requests).toEqual([]);
    wire("a");
    wire("b");
    await ignored.check(signal);
    await ignored.check(signal);
    expect(requests).toEqual(["find pod a", "find pod b", "find namespace default"]);
});

it.each(["list", "find"] as const)("checks again when its %s failed", async (request) => {
    const names = Array.from({ length: request === "list" ? 9 : 1 }, (_, at) => `p${at}`);
    const { ignored, reportedPods, failing, wire } = setUp(names.map((name) => podIn("team", name)));
    for (const name of names) wire(name);
    failing[request] = true;
    await expect(ignored.check(signal)).rejects.toThrow("no answer");
    failing[request] = false;
    await ignored.check(signal);
    expect(reportedPods()).toEqual(names);
});

it("waits for the mirror of a static Pod, but not for ever", async () => {
    const { ignored, reportedPods, requests, wire, podsOfNode } = setUp([]);
    wire("static", { podNamespace: "default", podUid: "hash" });
    wire("gone", { podNamespace: "default" });
    await ignored.check(signal);
    const mirrors = { "kubernetes.io/config.hash": "hash", "kubernetes.io/config.mirror": "hash" };
    podsOfNode.push(podIn("default", "static", { ...pools, ...mirrors }));
    for (let round = 0; round < 100; round += 1) await ignored.check(signal);
    expect(reportedPods()).toEqual(["static"]);
    expect(requests.length).toBeLessThan(40);
});
