import { Readable } from "node:stream";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { systemClock } from "@antrea/async";
import { settle } from "@antrea/async/testing";
import { formatIp } from "@antrea/ip";
import { type InformerComponents, type KubeObject } from "@antrea/kube";
import { type ServiceIndex, type ServiceObjects } from "@antrea/services";
import { ServiceWatch } from "../../../src/features/services/service-watch.ts";
import { silentLogger } from "../../support/logger.ts";
import { eventually } from "../../support/eventually.ts";
import { emptyIndex } from "./examples.ts";

type NodeListener = Parameters<ConstructorParameters<typeof ServiceWatch>[0]["nodes"]["onChange"]>[0];

const service = (name: string, more: object = {}): KubeObject =>
    ({
        metadata: { name, namespace: "default", uid: `uid-${name}`, resourceVersion: "1", managedFields: [] },
        spec: { clusterIPs: ["10.96.0.1", "fd00::1"], ports: [{ port: 80 }], ...more },
    }) as KubeObject;
const slice = (of: string, ip: string, version = "1", trigger?: string): KubeObject =>
    ({
        metadata: {
            name: `${of}-1`,
            namespace: "default",
            uid: `uid-${of}-1`,
            resourceVersion: version,
            labels: { "kubernetes.io/service-name": of, other: "x" },
            ...(trigger && { annotations: { "endpoints.kubernetes.io/last-change-trigger-time": trigger } }),
        },
        addressType: "IPv4",
        endpoints: [{ addresses: [ip] }],
        ports: [{ name: "", port: 8080 }],
    }) as KubeObject;

let lists: Record<string, PromiseWithResolvers<readonly KubeObject[]>>;
let streams: Record<string, Readable>;
let asked: unknown[];
let marked: string[];
let journaled: string[];
let updates: string[];
let nodeListener: NodeListener | undefined;
let index: ServiceIndex;
let watch: ServiceWatch;
const stop = new AbortController();

beforeEach(() => {
    lists = { services: Promise.withResolvers(), endpointslices: Promise.withResolvers() };
    [streams, asked, marked, journaled, updates, nodeListener] = [{}, [], [], [], [], undefined];
    const api = {
        list: async (
            { plural }: { plural: string },
            o: { labelSelector?: string; transform: (one: KubeObject) => KubeObject },
        ) => {
            asked.push([plural, o.labelSelector]);
            const items = (await lists[plural]?.promise) ?? [];
            return { items: items.map(o.transform), resourceVersion: "1" };
        },
        watch: ({ plural }: { plural: string }, { signal }: { signal: AbortSignal }) => {
            const stream = new Readable({ read: () => undefined });
            signal.addEventListener("abort", () => stream.destroy(new TypeError("aborted")));
            streams[plural] = stream;
            return Promise.resolve(stream);
        },
    } as unknown as InformerComponents["api"];
    index = emptyIndex();
    watch = new ServiceWatch({
        api,
        clock: systemClock,
        logger: silentLogger,
        index,
        nodes: {
            onChange: (listener) => {
                nodeListener = listener;
                return { [Symbol.dispose]: () => void (nodeListener = undefined) };
            },
        },
        mark: (key) => void marked.push(key),
        objectsChanged: (key) => void journaled.push(key),
        metrics: {
            endpointsUpdated: (type) => void updates.push(type),
            serviceUpdated: (families) => void updates.push(`Service ${families.join()}`),
        },
    });
    watch.start(stop.signal);
});
afterEach(() => watch.close());

const send = (plural: string, type: string, object: KubeObject): void =>
    void streams[plural]?.push(`${JSON.stringify({ type, object })}\n`);
const isMarked = (key: string): Promise<boolean> =>
    eventually(
        () => marked.includes(key),
        (found) => found,
        5_000,
    );

describe("the watch of Services", () => {
    it("reports nothing until both lists are complete, and then what is served", async () => {
        lists["services"]?.resolve([service("web"), service("none", { clusterIPs: ["None"] })]);
        const synced = watch.synced(stop.signal);
        await eventually(
            () => index.keys.length > 0,
            (found) => found,
            5_000,
        );
        nodeListener?.("added", "here", { metadata: { name: "here" } }, undefined, { by: "list", after: 0 });
        expect(marked).toEqual([]);
        lists["endpointslices"]?.resolve([slice("web", "10.10.0.2")]);
        expect(await synced).toEqual(["default/web"]);
        expect([marked, updates]).toEqual([[], []]);
        expect(asked).toEqual([
            ["services", undefined],
            ["endpointslices", "kubernetes.io/service-name,!service.kubernetes.io/headless"],
        ]);
    });

    it("reports changes of Services, endpoints and Nodes, with when those of endpoints were caused", async () => {
        lists["services"]?.resolve([service("web")]);
        const at = "2026-01-01T00:00:00Z";
        lists["endpointslices"]?.resolve([slice("web", "10.10.0.2", "1", at)]);
        await watch.synced(stop.signal);
        await eventually(
            () => Object.keys(streams).length === 2,
            (found) => found,
            5_000,
        );
        // it was before the first list
        expect(watch.takeTrigger("default/web")).toBe(undefined);
        send("endpointslices", "MODIFIED", slice("web", "10.10.0.3", "2", at));
        send("endpointslices", "MODIFIED", slice("web", "10.10.0.4", "3", "2026-01-01T00:00:05Z"));
        await eventually(
            () => marked.length === 2,
            (found) => found,
            5_000,
        );
        expect(marked).toEqual(["default/web", "default/web"]);
        expect(watch.takeTrigger("default/web")).toBe(Date.parse(at));
        expect(watch.takeTrigger("default/web")).toBe(undefined);
        watch.returnTrigger("default/web", Date.parse(at));
        watch.returnTrigger("default/web", undefined);
        expect(watch.takeTrigger("default/web")).toBe(Date.parse(at));
        send("services", "ADDED", service("api", { clusterIPs: ["10.96.0.2"] }));
        expect(await isMarked("default/api")).toBe(true);
        expect(updates).toEqual(["IPv4", "IPv4", "Service 4"]);
        send("services", "DELETED", service("api"));
        await eventually(
            () => index.keys.length === 1,
            (found) => found,
            5_000,
        );
        marked.length = 0;
        const addresses = [{ type: "InternalIP", address: "10.10.0.4" }];
        const node = { metadata: { name: "here" }, status: { addresses } };
        nodeListener?.("updated", "here", node, undefined, { by: "watch", after: 0 });
        expect(marked).toEqual(["default/web"]);
        nodeListener?.("deleted", "here", node, node, { by: "watch", after: 0 });
        expect(marked).toEqual(["default/web", "default/web"]);
        send("endpointslices", "DELETED", slice("web", "10.10.0.4", "4", at));
        await eventually(
            () => marked.length === 3,
            (found) => found,
            5_000,
        );
        expect(watch.takeTrigger("default/web")).toBe(undefined);
    });

    it("reports which objects changed, but not for Nodes, which are no part of them", async () => {
        lists["services"]?.resolve([service("web")]);
        lists["endpointslices"]?.resolve([slice("web", "10.10.0.2")]);
        await watch.synced(stop.signal);
        expect(journaled).toEqual([]);
        await eventually(
            () => Object.keys(streams).length === 2,
            (found) => found,
            5_000,
        );
        const addresses = [{ type: "InternalIP", address: "10.10.0.2" }];
        const node = { metadata: { name: "here" }, status: { addresses } };
        nodeListener?.("added", "here", node, undefined, { by: "watch", after: 0 });
        send("endpointslices", "MODIFIED", slice("web", "10.10.0.3", "2"));
        await eventually(
            () => journaled.length > 0,
            (found) => found,
            5_000,
        );
        expect([marked, journaled]).toEqual([["default/web", "default/web"], ["default/web"]]);
    });

    describe("with Services that were last known", () => {
        const known = (name: string, ip: string, clusterIp: string): ServiceObjects => ({
            service: service(name, { clusterIPs: [clusterIp] }) as ServiceObjects["service"],
            slices: [slice(name, ip) as ServiceObjects["slices"][number]],
        });
        const endpoints = (key: string): readonly string[] =>
            (index.served(key)?.ports ?? []).flatMap((port) => port.endpoints.cluster.map(({ ip }) => formatIp(ip)));

        it("has them until both lists are complete, and reports them once more then", async () => {
            expect(await watch.isCompleteWithin(0, stop.signal)).toBe(false);
            const keys = await watch.restore([
                known("web", "10.10.0.2", "10.96.0.1"),
                known("gone", "10.10.0.3", "10.96.0.2"),
            ]);
            expect(keys).toEqual(["default/web", "default/gone"]);
            expect([endpoints("default/web"), endpoints("default/gone")]).toEqual([["10.10.0.2"], ["10.10.0.3"]]);
            lists["services"]?.resolve([service("web"), service("new", { clusterIPs: ["10.96.0.3"] })]);
            await eventually(
                () => index.keys.length === 3,
                (found) => found,
                5_000,
            );
            expect(await watch.isCompleteWithin(10, stop.signal)).toBe(false);
            expect(endpoints("default/gone")).toEqual(["10.10.0.3"]);
            lists["endpointslices"]?.resolve([slice("new", "10.10.0.9")]);
            expect(await watch.isCompleteWithin(5_000, stop.signal)).toBe(true);
            const all = await watch.synced(stop.signal);
            expect(all.toSorted()).toEqual(["default/gone", "default/new", "default/web"]);
            expect(index.keys.toSorted()).toEqual(["default/new", "default/web"]);
            expect(endpoints("default/web")).toEqual([]);
            expect(endpoints("default/new")).toEqual(["10.10.0.9"]);
            expect([marked, journaled, updates]).toEqual([[], [], []]);
        });

        it("takes nothing of a kind whose list is complete", async () => {
            lists["services"]?.resolve([service("web")]);
            await eventually(
                () => index.keys.length === 1,
                (found) => found,
                5_000,
            );
            await settle();
            const keys = await watch.restore([
                known("web", "10.10.0.2", "10.96.0.7"),
                known("gone", "10.10.0.3", "10.96.0.2"),
            ]);
            expect(keys).toEqual(["default/web"]);
            expect(endpoints("default/web")).toEqual(["10.10.0.2"]);
            expect(index.objects("default/web")?.service.spec?.clusterIPs).toEqual(["10.96.0.1", "fd00::1"]);
            lists["endpointslices"]?.resolve([]);
            expect(await watch.synced(stop.signal)).toEqual(["default/web"]);
            expect(endpoints("default/web")).toEqual([]);
        });

        it("leaves out Services that are not among them, whose endpoints are not known yet", async () => {
            lists["services"]?.resolve([service("web"), service("new", { clusterIPs: ["10.96.0.3"] })]);
            await eventually(
                () => index.keys.length === 2,
                (found) => found,
                5_000,
            );
            expect(await watch.restore([known("web", "10.10.0.2", "10.96.0.1")])).toEqual(["default/web"]);
            lists["endpointslices"]?.resolve([slice("new", "10.10.0.9")]);
            const all = await watch.synced(stop.signal);
            expect(all.toSorted()).toEqual(["default/new", "default/web"]);
        });

        it("rejects when the wait is aborted", async () => {
            const aborted = AbortSignal.abort();
            await expect(watch.isCompleteWithin(1_000, aborted)).rejects.toThrow("cancelled");
            for (const list of Object.values(lists)) list.resolve([]);
        });
    });
});
