import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import { pods, type Pod } from "@antrea/kube";
import { eventually } from "@antrea/kube/testing";
import { NodePods } from "../../../src/features/ip-pools/node-pods.ts";
import { silentLogger } from "../../support/logger.ts";
import { FakeApi } from "./support/fake-api.ts";

const web = { namespace: "default", name: "web", uid: "u" };
const { signal } = new AbortController();

let api: FakeApi;
let clock: ManualClock;
let stop: AbortController;
let nodePods: NodePods;

function put(change: { metadata?: Pod["metadata"]; spec?: object; status?: Pod["status"] } = {}): void {
    const metadata = { ...web, ...change.metadata };
    api.put(pods, { metadata, spec: { nodeName: "a", ...change.spec }, status: change.status ?? {} } as never);
}

beforeEach(() => {
    [api, clock, stop] = [new FakeApi(), new ManualClock(), new AbortController()];
    nodePods = new NodePods({ api, clock, logger: silentLogger }, { nodeName: "a" });
    nodePods.informer.start(stop.signal);
});
afterEach(() => {
    stop.abort();
    return nodePods.informer.close();
});

describe("the Pods of a Node", () => {
    it("are known by their UID: neither another of that name nor one without a UID is taken for it", async () => {
        put();
        await eventually(() => nodePods.known(web) !== undefined);
        expect(nodePods.known({ ...web, uid: "other" })).toBeUndefined();
        expect(nodePods.known({ ...web, uid: "" })).toBeUndefined();
        expect(nodePods.known({ ...web, namespace: "other" })).toBeUndefined();
        expect(nodePods.objectUid(web)).toBe("u");
        expect(nodePods.objectUid({ ...web, uid: "other" })).toBe("other");
    });

    it("are also known by the hash of a static Pod's file; their events are of the mirror object", async () => {
        const mirrors = { "kubernetes.io/config.hash": "hash", "kubernetes.io/config.mirror": "hash" };
        put({ metadata: { annotations: { ...mirrors, other: "x" } } });
        const known = { ...web, uid: "hash" };
        await eventually(() => nodePods.known(known) !== undefined);
        expect(nodePods.objectUid(known)).toBe("u");
        expect(nodePods.known(known)?.metadata?.annotations).toEqual(mirrors);
    });

    describe("whose names nobody knows", () => {
        const unnamed = { namespace: "", name: "", uid: "u" };
        const wired = { podNamespace: "", podName: "", podUid: "u" };
        const nameGiven = (): string | undefined =>
            nodePods.withNames([wired]).map(({ podNamespace, podName }) => `${podNamespace}/${podName}`)[0];
        const others = { namespace: "other", name: "other", uid: "x" };
        const hashed = { "kubernetes.io/config.hash": "u" };
        const mirrors = { ...hashed, "kubernetes.io/config.mirror": "u" };
        const knownAs = ({ uid }: { readonly uid: string }): Promise<unknown> =>
            eventually(() => nodePods.known({ ...others, uid }) !== undefined);

        it("are found by the UID of their object, before a mirror with such a hash", async () => {
            put({ metadata: { ...others, annotations: mirrors } });
            await knownAs(others);
            expect(nameGiven()).toBe("other/other");
            put();
            await eventually(() => nodePods.known(web) !== undefined);
            expect(nameGiven()).toBe("default/web");
            expect(await nodePods.live(unnamed, signal)).toMatchObject({ metadata: web });
            expect(nodePods.objectUid(unnamed)).toBe("u");
        });

        it("are found by the hash of a mirror, and by no hash that an ordinary Pod has", async () => {
            put({ metadata: { ...others, annotations: hashed } });
            await knownAs(others);
            expect(nameGiven()).toBe("/");
            expect(nodePods.isKnownAlive(unnamed)).toBe(false);
            expect(await nodePods.isOver(unnamed, signal)).toBe(true);
            put({ metadata: { ...others, annotations: mirrors } });
            await eventually(() => nodePods.isKnownAlive(unnamed));
            expect(nameGiven()).toBe("other/other");
            expect(await nodePods.isOver(unnamed, signal)).toBe(false);
        });

        it("are asked for among the Pods of this Node, no longer than 10 s; without a UID nobody is asked", async () => {
            const asked: unknown[] = [];
            const list: FakeApi["list"] = (resource, o) => (asked.push(o), api.list(resource, o));
            const find: FakeApi["find"] = (resource, key, o) => (asked.push(key), api.find(resource, key, o));
            const one = new NodePods(
                { api: { list, watch: api.watch, find }, clock, logger: silentLogger },
                { nodeName: "a" },
            );
            put();
            expect(await one.isOver(unnamed, signal)).toBe(false);
            expect(await one.isOver({ ...unnamed, uid: "" }, signal)).toBe(true);
            expect(asked).toEqual([{ fieldSelector: "spec.nodeName=a", signal, timeoutMs: 10_000 }]);
            await one.informer.close();
        });

        it("are given to interfaces that lack them, once the watch has them", async () => {
            expect(nodePods.withNames([wired])).toEqual([wired]);
            put();
            await eventually(() => nodePods.known(web) !== undefined);
            const given = nodePods.withNames([wired, { ...wired, podUid: "" }, { ...wired, podName: "web-1" }]);
            expect(given).toEqual([
                { podNamespace: "default", podName: "web", podUid: "u" },
                { ...wired, podUid: "" },
                { ...wired, podName: "web-1" },
            ]);
        });
    });

    it("are alive until they are gone or have ended, and what is not known is not called alive", async () => {
        expect(nodePods.isKnownAlive(web)).toBe(false);
        expect(await nodePods.isOver(web, signal)).toBe(true);
        put({ status: { phase: "Running" } });
        await eventually(() => nodePods.isKnownAlive(web));
        expect(await nodePods.isOver(web, signal)).toBe(false);
        expect(await nodePods.isOver({ ...web, uid: "before" }, signal)).toBe(true);
        put({ status: { phase: "Failed" } });
        await eventually(() => !nodePods.isKnownAlive(web));
        expect(await nodePods.isOver(web, signal)).toBe(true);
    });

    it("are known since the first event of each, not since a later one or one of their forerunner", async () => {
        expect(nodePods.knownSince(web)).toBeUndefined();
        await clock.advance(100);
        put();
        await eventually(() => nodePods.knownSince(web) === 100);
        await clock.advance(100);
        put({ status: { phase: "Running" } });
        await eventually(() => nodePods.known(web)?.status?.phase === "Running");
        expect(nodePods.knownSince(web)).toBe(100);
        api.remove(pods, "default/web");
        await eventually(() => nodePods.known(web) === undefined);
        await clock.advance(100);
        put();
        await eventually(() => nodePods.knownSince(web) === 300);
    });

    it("keep what pool allocation reads of them, from the watch and live, and no more", async () => {
        const reference = { apiVersion: "apps/v1", kind: "StatefulSet", name: "web", uid: "set", controller: true };
        const metadata = {
            name: "web-3",
            labels: { app: "web" },
            ownerReferences: [reference],
            annotations: { "ipam.antrea.io/ippools": "pool1", "ipam.antrea.io/pod-ips": "10.2.0.9", other: "x" },
        };
        put({ metadata, spec: { hostNetwork: true, containers: [{ name: "c" }] }, status: { phase: "Running" } });
        const pod = { ...web, name: "web-3" };
        await eventually(() => nodePods.known(pod) !== undefined);
        const kept = {
            metadata: {
                ...web,
                name: "web-3",
                resourceVersion: expect.any(String),
                ownerReferences: [reference],
                annotations: { "ipam.antrea.io/ippools": "pool1", "ipam.antrea.io/pod-ips": "10.2.0.9" },
            },
            spec: { containers: [], hostNetwork: true },
            status: { phase: "Running" },
        };
        expect(nodePods.known(pod)).toEqual(kept);
        expect(await nodePods.live(pod, signal)).toEqual(kept);
        put();
        await eventually(() => nodePods.known(web) !== undefined);
        const bare = {
            metadata: { ...web, resourceVersion: expect.any(String) },
            spec: { containers: [] },
            status: {},
        };
        expect(nodePods.known(web)).toEqual(bare);
        expect(await nodePods.live({ ...web, uid: "" }, signal)).toEqual(bare);
    });

    it("are asked for no longer than 10 s, and by nobody who gave up", async () => {
        const asked: unknown[] = [];
        const find: FakeApi["find"] = (resource, key, o) => (asked.push([key, o]), api.find(resource, key, o));
        const one = new NodePods(
            { api: { list: api.list, watch: api.watch, find }, clock, logger: silentLogger },
            { nodeName: "a" },
        );
        await one.live(web, signal);
        expect(asked).toEqual([
            [
                { namespace: "default", name: "web" },
                { signal, timeoutMs: 10_000 },
            ],
        ]);
        await one.informer.close();
    });
});
