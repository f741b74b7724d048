import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { ipPools } from "@antrea/crd";
import { formatPrefix, formatRange, parseIp, parsePrefix } from "@antrea/ip";
import { KubeError, serviceCidrs, type ChangeListener, type Node } from "@antrea/kube";
import { eventually } from "@antrea/kube/testing";
import { PoolCache } from "../../../src/features/ip-pools/pool-cache.ts";
import { silentLogger } from "../../support/logger.ts";
import { FakeApi } from "./support/fake-api.ts";

let api: FakeApi;
let nodes: Map<string, Node>;
let listeners: Set<ChangeListener<Node>>;
let cache: PoolCache;
let stop: AbortController;
let listed: number;

const limit = (): AbortSignal => AbortSignal.timeout(60_000);

function addPool(
    name: string,
    start: string,
    end: string,
    o: { gateway?: string; vlan?: number; status?: object } = {},
): void {
    const ipRanges = [{ start, end, gateway: o.gateway ?? "10.0.255.1", prefixLength: 16, vlan: o.vlan ?? 0 }];
    api.put(ipPools, {
        metadata: { name },
        spec: { ipVersion: 4, ipRanges },
        ...(o.status && { status: o.status }),
    } as never);
}

function addNode(name: string, address: string, heartbeat = ""): void {
    const old = nodes.get(name);
    const node: Node = {
        metadata: { name, annotations: { heartbeat } },
        status: {
            addresses: [
                { type: "InternalIP", address },
                { type: "Hostname", address: "host.example" },
            ],
        },
    };
    nodes.set(name, node);
    const type = old === undefined ? "added" : "updated";
    for (const listener of listeners) listener(type, name, node, old, { by: "watch", after: Infinity });
}

async function usable(name: string): Promise<readonly string[] | undefined> {
    return (await cache.find(name, limit()))?.usable.ranges.map(formatRange);
}

/** No Nodes. */
const none = {
    onChange: () => ({ [Symbol.dispose]: () => undefined }),
    synced: () => Promise.resolve(),
    hasSynced: true,
};

beforeEach(() => {
    api = new FakeApi();
    nodes = new Map();
    listed = 0;
    listeners = new Set();
    stop = new AbortController();
    const source = {
        list: () => {
            listed += 1;
            return [...nodes.values()];
        },
        onChange: (listener: ChangeListener<Node>) => {
            listeners.add(listener);
            return { [Symbol.dispose]: () => void listeners.delete(listener) };
        },
        synced: () => Promise.resolve(),
        hasSynced: true,
    };
    cache = new PoolCache({ api, logger: silentLogger, nodes: source });
    cache.start(stop.signal);
});
afterEach(() => cache.close());

describe("PoolCache", () => {
    it("takes away what is in use elsewhere, and follows each of its sources", async () => {
        addPool("pool1", "10.0.0.0", "10.0.0.9");
        expect(await usable("pool1")).toEqual(["10.0.0.1-10.0.0.9"]);
        addNode("n", "10.0.0.3");
        expect(await usable("pool1")).toEqual(["10.0.0.1-10.0.0.2", "10.0.0.4-10.0.0.9"]);
        api.put(serviceCidrs, { metadata: { name: "k" }, spec: { cidrs: ["10.0.0.8/29", "not a CIDR"] } } as never);
        await eventually(async () => (await usable("pool1"))?.at(-1) === "10.0.0.4-10.0.0.7");
        addPool("pool2", "10.0.9.5", "10.0.9.5", { gateway: "10.0.0.2" });
        await eventually(async () => (await usable("pool1"))?.[0] === "10.0.0.1");
        addPool("pool3", "10.0.9.6", "10.0.9.6", { gateway: "10.0.0.1", vlan: 5 });
        await cache.find("pool3", limit());
        api.remove(ipPools, "pool2");
        await eventually(async () => (await usable("pool1"))?.[0] === "10.0.0.1-10.0.0.2");
    });

    it("computes nothing again for a heartbeat or a status", async () => {
        addPool("pool1", "10.0.0.0", "10.0.0.9");
        addNode("n", "10.0.0.3");
        const before = await cache.find("pool1", limit());
        addNode("n", "10.0.0.3", "later");
        addPool("pool1", "10.0.0.0", "10.0.0.9", { status: { freeBlocks: ["10.0.0.0/24"], conditions: [] } });
        await eventually(async () => (await cache.find("pool1", limit()))?.status?.freeBlocks?.length === 1);
        const after = await cache.find("pool1", limit());
        expect(after?.usable).toBe(before?.usable);
        expect(after?.pool).toBe(before?.pool);
    });

    it("reads each Node once, and computes nothing again for one that no pool has an address of", async () => {
        addPool("pool1", "10.0.0.0", "10.0.0.9");
        for (let node = 0; node < 100; node += 1) addNode(`n${node}`, `192.168.0.${node}`);
        const before = await cache.find("pool1", limit());
        const lists = listed;
        addNode("far", "192.168.1.1");
        addNode("n7", "192.168.1.7");
        expect((await cache.find("pool1", limit()))?.usable).toBe(before?.usable);
        addNode("n8", "10.0.0.5");
        expect(await usable("pool1")).toEqual(["10.0.0.1-10.0.0.4", "10.0.0.6-10.0.0.9"]);
        addNode("n8", "192.168.1.8");
        expect(await usable("pool1")).toEqual(["10.0.0.1-10.0.0.9"]);
        expect(listed).toBe(lists);
    });

    it("takes away what lies in a pool that came after the Nodes, also while the watch lacks the pool", async () => {
        addNode("n", "10.0.0.3");
        addPool("pool1", "10.1.0.0", "10.1.0.9");
        await cache.find("pool1", limit());
        api.holdEvents();
        addPool("pool2", "10.0.0.0", "10.0.0.9", { gateway: "10.0.0.9" });
        expect(await usable("pool2")).toEqual(["10.0.0.1-10.0.0.2", "10.0.0.4-10.0.0.8"]);
        const live = await cache.find("pool2", limit());
        expect(live && cache.reason(live.pool, parseIp("10.0.0.3"))).toBe("is an address of a Node");
        api.releaseEvents();
        await eventually(() => cache.poolOf(parseIp("10.0.0.3")) === "pool2");
        expect(await usable("pool2")).toEqual(["10.0.0.1-10.0.0.2", "10.0.0.4-10.0.0.8"]);
    });

    it("keeps what the controller reports of a pool, and no more of the status", async () => {
        const usage = { total: 9, used: 3, reserved: 1, free: 5 };
        addPool("pool1", "10.0.0.0", "10.0.0.9", { status: { usage, freeBlocks: ["10.0.0.0/24"], conditions: [] } });
        addPool("pool2", "10.0.1.0", "10.0.1.9", { status: { conditions: [] } });
        expect((await cache.find("pool1", limit()))?.status).toEqual({ usage, freeBlocks: ["10.0.0.0/24"] });
        expect((await cache.find("pool2", limit()))?.status).toEqual({});
        expect((await cache.find("pool1", limit()))?.version).toEqual({ uid: expect.any(String), generation: 1 });
    });

    it("asks for a pool that it does not know before it reports that there is none", async () => {
        expect(await cache.find("pool1", limit())).toBeUndefined();
        api.holdEvents();
        addPool("pool1", "10.0.0.0", "10.0.0.9");
        expect(await usable("pool1")).toEqual(["10.0.0.1-10.0.0.9"]);
    });

    it("finds which pool has an address", async () => {
        addPool("pool1", "10.0.0.0", "10.0.0.9");
        addPool("pool2", "10.0.1.0", "10.0.1.9");
        await eventually(() => cache.poolOf(parseIp("10.0.1.9")) === "pool2");
        expect(cache.poolOf(parseIp("10.0.2.9"))).toBeUndefined();
    });

    it("finds which pools overlap with one", async () => {
        addPool("pool1", "10.0.0.0", "10.0.0.9");
        addPool("pool2", "10.0.0.9", "10.0.1.9");
        addPool("pool3", "10.0.2.0", "10.0.2.9");
        await eventually(() => cache.poolOf(parseIp("10.0.2.9")) === "pool3");
        const known = await cache.find("pool1", limit());
        expect(known && cache.overlapping(known.pool)).toEqual(["pool2"]);
    });

    it("reads a pool that breaks all rules", async () => {
        api.put(ipPools, { metadata: { name: "bad" }, spec: { ipVersion: 4, ipRanges: [{ start: "x" }] } } as never);
        const known = await cache.find("bad", limit());
        expect(known?.usable.isEmpty).toBe(true);
        expect(known?.pool.problems).not.toEqual([]);
    });

    it("finds which pools have a range in a prefix, each once", async () => {
        const ipRanges = [
            { start: "10.0.0.0", end: "10.0.0.9", gateway: "10.0.255.1", prefixLength: 16 },
            { start: "10.0.0.20", end: "10.0.0.29", gateway: "10.0.255.1", prefixLength: 16 },
        ];
        api.put(ipPools, { metadata: { name: "pool1" }, spec: { ipVersion: 4, ipRanges } } as never);
        addPool("pool2", "10.0.0.200", "10.0.1.9");
        addPool("pool3", "10.0.2.0", "10.0.2.9");
        await eventually(() => cache.poolOf(parseIp("10.0.2.9")) === "pool3");
        expect([...cache.poolsWithin(parsePrefix("10.0.0.0/24"))].toSorted()).toEqual(["pool1", "pool2"]);
        expect(cache.poolsWithin(parsePrefix("10.0.3.0/24"))).toEqual([]);
    });

    it("reports that a pool is missing only once it is synced, and finds one that the watch has reported", async () => {
        expect([cache.isMissing("pool1"), cache.known("pool1")]).toEqual([false, undefined]);
        await cache.synced(limit());
        expect(cache.isMissing("pool1")).toBe(true);
        addPool("pool1", "10.0.0.0", "10.0.0.9");
        await eventually(() => !cache.isMissing("pool1"));
        expect(cache.known("pool1")?.pool.name).toBe("pool1");
        api.remove(ipPools, "pool1");
        await eventually(() => cache.isMissing("pool1"));
        expect(cache.known("pool1")).toBeUndefined();
        expect(cache.poolOf(parseIp("10.0.0.3"))).toBeUndefined();
    });

    it("finds the pool of an address, or only one that may hand it out", async () => {
        addPool("pool1", "10.0.0.0", "10.0.0.9", { gateway: "10.0.0.5" });
        await cache.find("pool1", limit());
        expect(cache.poolOf(parseIp("10.0.0.5"))).toBe("pool1");
        expect(cache.poolOf(parseIp("10.0.0.5"), "pool1", "usable")).toBeUndefined();
        expect(cache.poolOf(parseIp("10.0.0.6"), "pool1", "usable")).toBe("pool1");
        addNode("n", "10.0.0.6");
        expect(cache.poolOf(parseIp("10.0.0.6"), "", "usable")).toBe("pool1");
    });

    it("reports each change of ranges, and neither a status nor a heartbeat of a Node", async () => {
        let changes = 0;
        const listening = cache.onRanges(() => (changes += 1));
        addPool("pool1", "10.0.0.0", "10.0.0.9");
        await eventually(() => changes === 1);
        addPool("pool1", "10.0.0.0", "10.0.0.9", { status: { freeBlocks: ["10.0.0.0/24"] } });
        await eventually(async () => (await cache.find("pool1", limit()))?.status !== undefined);
        addNode("n", "10.0.0.3");
        expect(changes).toBe(1);
        addPool("pool1", "10.0.0.0", "10.0.0.19");
        await eventually(() => changes === 2);
        api.remove(ipPools, "pool1");
        await eventually(() => changes === 3);
        listening[Symbol.dispose]();
        addPool("pool2", "10.0.1.0", "10.0.1.9");
        await eventually(() => cache.poolOf(parseIp("10.0.1.3")) === "pool2");
        expect(changes).toBe(3);
    });

    it("knows the ranges of Services when they are read, and reports their changes", async () => {
        expect(cache.serviceCidrs).toBeUndefined();
        await cache.synced(limit());
        expect(cache.serviceCidrs).toEqual([]);
        let changes = 0;
        cache.onServiceCidrs(() => (changes += 1));
        api.put(serviceCidrs, { metadata: { name: "k" }, spec: { cidrs: ["10.96.0.0/16"] } } as never);
        await eventually(() => changes === 1);
        expect(cache.serviceCidrs?.map(formatPrefix)).toEqual(["10.96.0.0/16"]);
    });

    it("reports what the API server reported while not everything is known, and nothing once it is", async () => {
        await cache.close();
        const forbidden = new KubeError("FORBIDDEN", "no permission");
        let isRefused = true;
        api.fault = (_, plural) => (isRefused && plural === "servicecidrs" ? { refuse: forbidden } : undefined);
        cache = new PoolCache({ api, logger: silentLogger, nodes: { ...none, list: () => [] } });
        expect(cache.lastError).toBeUndefined();
        cache.start(stop.signal);
        await eventually(() => cache.lastError !== undefined);
        expect(cache.lastError).toBe(forbidden);
        await expect(cache.synced(AbortSignal.timeout(10))).rejects.toBeDefined();
        isRefused = false;
        await cache.synced(limit());
        expect(cache.lastError).toBeUndefined();
    });

    it("has a pool as the API server has it when it asks, and lets no late event undo that", async () => {
        addPool("pool1", "10.0.0.0", "10.0.0.9");
        await cache.find("pool1", limit());
        api.holdEvents();
        addPool("pool1", "10.0.0.0", "10.0.0.4");
        addPool("pool1", "10.0.0.0", "10.0.0.5");
        expect(await usable("pool1")).toEqual(["10.0.0.1-10.0.0.9"]);
        expect((await cache.live("pool1", limit()))?.usable.ranges.map(formatRange)).toEqual(["10.0.0.1-10.0.0.5"]);
        expect(await usable("pool1")).toEqual(["10.0.0.1-10.0.0.5"]);
        const seen = new Set<string>();
        cache.onRanges(() => seen.add(cache.known("pool1")?.usable.ranges.map(formatRange).join() ?? ""));
        api.releaseEvents();
        addPool("pool1", "10.0.0.0", "10.0.0.7");
        await eventually(async () => (await usable("pool1"))?.join() === "10.0.0.1-10.0.0.7");
        expect([...seen]).toEqual(["10.0.0.1-10.0.0.7"]);
    });

    it("asks once for all who ask while a request is under way, after they asked", async () => {
        addPool("pool1", "10.0.0.0", "10.0.0.9");
        await cache.synced(limit());
        api.holdEvents();
        const gate = Promise.withResolvers<void>();
        api.before = (method) => (method === "find" ? gate.promise : Promise.resolve());
        const early = cache.live("pool1", limit());
        const stopped = new AbortController();
        const late = [cache.live("pool1", limit()), cache.live("pool1", stopped.signal), cache.live("pool1", limit())];
        stopped.abort();
        await expect(late[1]).rejects.toMatchObject({ name: "AbortError" });
        gate.resolve();
        await early;
        addPool("pool1", "10.0.0.0", "10.0.0.4");
        const ends = (await Promise.all([late[0], late[2]])).map((found) =>
            found?.usable.ranges.map(formatRange).join(),
        );
        expect(ends).toEqual(["10.0.0.1-10.0.0.4", "10.0.0.1-10.0.0.4"]);
        expect(api.requests.filter((request) => request.startsWith("find"))).toHaveLength(2);
    });

    it("has no pool that the API server has no more, although the watch is late", async () => {
        await cache.synced(limit());
        api.holdEvents();
        addPool("pool1", "10.0.0.0", "10.0.0.9");
        await cache.live("pool1", limit());
        expect(cache.poolOf(parseIp("10.0.0.3"))).toBe("pool1");
        api.remove(ipPools, "pool1");
        expect(await cache.live("pool1", limit())).toBeUndefined();
        expect(cache.poolOf(parseIp("10.0.0.3"))).toBeUndefined();
        expect(cache.isMissing("pool1")).toBe(true);
    });
});
