import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { ipAllocations } from "@antrea/crd";
import { eventually } from "@antrea/kube/testing";
import { delegatedPools } from "../../../src/features/ip-pools/index.ts";
import type { NetworkAddresses } from "../../../src/platform/pod-interfaces/index.ts";
import { away } from "./support/fake-api.ts";
import { FakeCluster } from "./support/fake-cluster.ts";
import { FakeWiring } from "./support/fake-wiring.ts";
import { type TestPoolAgent } from "./support/test-agent.ts";

let cluster: FakeCluster;
let wiring: FakeWiring;
let agent: TestPoolAgent;
let delegated: ReturnType<typeof delegatedPools>;
const limit = (): AbortSignal => AbortSignal.timeout(60_000);
const net1 = { containerId: "c-web", ifName: "net1" };

/** The next agent of the Node, which knows what its allocations have. */
async function startAgent(): Promise<void> {
    agent = cluster.agent("a", { confirmMs: 0 });
    delegated = delegatedPools(agent.pools, wiring);
    await delegated.synced(limit());
}

beforeEach(async () => {
    cluster = new FakeCluster();
    wiring = new FakeWiring();
    cluster.addPool("pool1", { cidr: "10.2.0.0/24", gateway: "10.2.0.1" });
    cluster.addPool("pool6", { cidr: "fd02::/120", gateway: "fd02::1" });
    cluster.addPool("one", { start: "10.4.0.9", end: "10.4.0.9", gateway: "10.4.0.1" });
    cluster.addPod("web", { nodeName: "a" });
    await startAgent();
    // eth0, of the Node's podCIDR
    wiring.wire("web", []);
});
afterEach(() => cluster[Symbol.asyncDispose]());

function asked(pools: readonly string[], change: Partial<NetworkAddresses> = {}): NetworkAddresses {
    const pod = { podNamespace: "default", podName: "web", podUid: "uid-web" };
    const demands = pools.map((pool) => ({ pool, fixed: undefined }));
    return { ...net1, ...pod, network: "macnet", demands, ...change };
}

const claim = (...args: Parameters<typeof asked>): Promise<unknown> =>
    delegated.claim(asked(...args), performance.now(), limit());
const states = (): readonly string[] =>
    cluster.allocations().map(({ spec: { pool, pod } }) => `${pool} ${pod?.containerID}/${pod?.interface}`);
const reconcile = (): Promise<void> => agent.pools.reconcile(wiring, limit());

describe("the addresses of an interface that another plugin makes", () => {
    it("are in use while the container has an interface of ours, though there is no record of their own", async () => {
        await claim(["pool1", "pool6"]);
        cluster.removePod("web");
        await eventually(() => agent.pools.pods.informer.list().length === 0);
        for (let round = 0; round < 3; round += 1) await reconcile();
        expect(states()).toEqual(["pool1 c-web/net1", "pool6 c-web/net1"]);
        // The DEL of net1 never comes, that of eth0 does.
        wiring.unwire("c-web");
        await eventually(async () => {
            await reconcile();
            return states().length === 0;
        });
    });

    it("are freed soon after their container has ended without a DEL, once the Pod is over", async () => {
        await claim(["pool1"]);
        expect(await delegated.check(limit())).toBeUndefined();
        wiring.unwire("c-web");
        // The next sandbox of the Pod may take them.
        expect(await delegated.check(limit())).toBe(3_000);
        expect(await delegated.check(limit())).toBe(3_000);
        expect(states()).toEqual(["pool1 c-web/net1"]);
        cluster.removePod("web");
        expect(await delegated.check(limit())).toBeUndefined();
        expect(states()).toEqual([]);
    });

    it("that the next sandbox has taken are left to it when the earlier one has ended", async () => {
        await claim(["pool1"]);
        wiring.wire("web", [], "c2");
        wiring.unwire("c-web");
        await claim(["pool1"], { containerId: "c2" });
        expect(await delegated.check(limit())).toBeUndefined();
        cluster.removePod("web");
        expect(await delegated.check(limit())).toBeUndefined();
        expect(states()).toEqual(["pool1 c2/net1"]);
    });

    it("wait for the next sandbox of their Pod, which adopts them", async () => {
        const first = await claim(["pool1"]);
        wiring.unwire("c-web");
        for (let round = 0; round < 3; round += 1) await reconcile();
        wiring.wire("web", [], "c2");
        expect(await claim(["pool1"], { containerId: "c2" })).toEqual(first);
        expect(states()).toEqual(["pool1 c2/net1"]);
    });

    it("are freed by DEL, and by GC of their network, unless they are listed", async () => {
        await claim(["pool1"]);
        await claim(["pool1"], { ifName: "net2", network: "other" });
        await claim(["pool1"], { ifName: "net3" });
        const listed = [{ containerId: "c-web", ifName: "net3" }];
        expect(await delegated.collect("macnet", listed, Infinity)).toBe(1);
        expect(states()).toEqual(["pool1 c-web/net2", "pool1 c-web/net3"]);
        expect(await delegated.collect("macnet", [], -1)).toBe(0);
        await delegated.release({ containerId: "c-web", ifName: "net3" });
        expect(states()).toEqual(["pool1 c-web/net2"]);
        expect(delegated.addressesOf({ containerId: "c-web", ifName: "net2" })).toHaveLength(1);
    });

    it("that are deleted while the container runs are made again, for the same owner", async () => {
        const statefulSet = { name: "db", ordinal: 0, uid: "set" };
        cluster.addPod("db-0", { nodeName: "a", set: statefulSet });
        wiring.wire("db-0", []);
        const ofSet = { podName: "db-0", podUid: "uid-db-0", containerId: "c-db-0" };
        await claim(["pool1"], ofSet);
        await claim(["pool6"]);
        const before = cluster.allocations().map(({ spec }) => spec);
        for (const { metadata } of cluster.allocations()) cluster.api.remove(ipAllocations, metadata?.name ?? "");
        await eventually(() => agent.pools.own.size === 0);
        await delegated.check(limit());
        expect(cluster.allocations().map(({ spec }) => spec)).toEqual(before);
        expect(before[0]?.owner).toMatchObject({ kind: "StatefulSet", name: "db", index: 0, interface: "net1" });
    });

    it("that another has by then are reported once on the Pod", async () => {
        await claim(["one"]);
        cluster.api.remove(ipAllocations, "10.4.0.9");
        await eventually(() => agent.pools.own.size === 0);
        await cluster.agent("b").claim("rival", { pools: ["one"] });
        for (let round = 0; round < 2; round += 1) await delegated.check(limit());
        expect(agent.events).toMatchObject([
            {
                reason: "AddressHeldElsewhere",
                note: expect.stringMatching(
                    /^address 10\.4\.0\.9 of interface net1 of this Pod, of network macnet, is held by Pod default\/rival .* Another plugin made the interface/,
                ),
            },
        ]);
    });

    it("are not made again once their DEL has come, also if the API server was away then", async () => {
        await claim(["pool1"]);
        cluster.api.fault = (method) => (method === "delete" ? { refuse: away() } : undefined);
        await delegated.release(net1);
        expect(states()).toHaveLength(1);
        cluster.api.fault = () => undefined;
        await delegated.check(limit());
        await reconcile();
        await delegated.check(limit());
        expect(states()).toEqual([]);
    });

    it("are not made again if the DEL comes while the ADD is in progress", async () => {
        const deleted = Promise.withResolvers<void>();
        cluster.api.before = (method) => {
            if (method !== "create") return Promise.resolve();
            cluster.api.before = () => Promise.resolve();
            void delegated.release(net1).then(deleted.resolve);
            return Promise.resolve();
        };
        await expect(claim(["pool1"])).rejects.toMatchObject({ code: "DELETED_MEANWHILE" });
        await deleted.promise;
        await delegated.check(limit());
        expect(states()).toEqual([]);
    });

    it("are not claimed after their DEL, for a call that was received before, nor without their container", async () => {
        const received = performance.now();
        await delegated.release(net1);
        const late = delegated.claim(asked(["pool1"]), received, limit());
        await expect(late).rejects.toMatchObject({ code: "DELETED_MEANWHILE" });
        wiring.unwire("c-web");
        await expect(claim(["pool1"])).rejects.toThrow("container c-web has no interface on the Pod network any more");
        wiring.wire("web", []);
        // Its eth0 goes while the addresses are claimed.
        cluster.api.before = (method) => Promise.resolve(method === "create" ? wiring.unwire("c-web") : undefined);
        await expect(claim(["pool1"])).rejects.toMatchObject({ code: "DELETED_MEANWHILE" });
        expect(states()).toEqual([]);
    });

    it("of the Pod's own interface are never freed by a DEL of a network", async () => {
        await agent.claim("web", { pools: ["pool1"] });
        await delegated.release({ containerId: "c-web", ifName: "eth0" });
        expect(states()).toEqual(["pool1 c-web/eth0"]);
    });

    it("stay when an ADD of the same interface fails", async () => {
        await claim(["pool1"]);
        await cluster.agent("b").claim("rival", { pools: ["one"] });
        await expect(claim(["pool1", "pool6", "one"])).rejects.toMatchObject({ code: "EXHAUSTED" });
        expect(states().filter((text) => text.endsWith("net1"))).toEqual(["pool1 c-web/net1"]);
    });

    it("that the next sandbox took while the earlier one still has its eth0 are not taken back", async () => {
        await claim(["pool1"]);
        wiring.wire("web", [], "c2");
        await claim(["pool1"], { containerId: "c2" });
        for (let round = 0; round < 2; round += 1) await delegated.check(limit());
        await delegated.release(net1);
        expect(states()).toEqual(["pool1 c2/net1"]);
        expect(await agent.metric("antrea_agent_ipam_records_mended_total")).toBe(0);
    });

    it("of an ended container are freed when the next one has others", async () => {
        await claim(["pool1"]);
        wiring.unwire("c-web");
        wiring.wire("web", [], "c2");
        await claim(["pool6"], { containerId: "c2", demands: [{ pool: "pool6", fixed: undefined }] });
        expect(states()).toEqual(["pool6 c2/net1"]);
        expect(delegated.hasAny("uid-web", "net1")).toBe(true);
        // Another fixed address of the same pool: what the earlier container had is of a pool that is still named.
        const fixed = { family: 6, value: 0xfd020000000000000000000000000077n } as const;
        wiring.wire("web", [], "c3");
        await claim([], { containerId: "c3", demands: [{ pool: "pool6", fixed }] });
        wiring.unwire("c2");
        await eventually(async () => {
            await reconcile();
            return states().join() === "pool6 c3/net1";
        });
    });

    it("of an ended container are freed when the next one has run for five minutes, and nobody has asked for them", async () => {
        await claim(["pool1"]);
        wiring.unwire("c-web");
        wiring.wire("web", [], "c2");
        for (let round = 0; round < 3; round += 1) await reconcile();
        expect(states()).toEqual(["pool1 c-web/net1"]);
        wiring.wiredAt.set("c2", performance.now() - 300_000);
        for (let round = 0; round < 3; round += 1) await reconcile();
        expect(states()).toEqual([]);
    });

    it("are known to the next start of the agent", async () => {
        await claim(["pool1"]);
        await agent.kill();
        await startAgent();
        await delegated.check(limit());
        cluster.api.remove(ipAllocations, cluster.allocations()[0]?.metadata?.name ?? "");
        await eventually(() => agent.pools.own.size === 0);
        await delegated.check(limit());
        expect(states()).toEqual(["pool1 c-web/net1"]);
        wiring.unwire("c-web");
        await delegated.check(limit());
    });

    it("are not given to a Pod that does not exist", async () => {
        cluster.removePod("web");
        await eventually(() => agent.pools.pods.informer.list().length === 0);
        await expect(claim(["pool1"])).rejects.toMatchObject({ code: "POD_GONE" });
        expect(agent.events).toMatchObject([{ reason: "IPAllocationFailed" }]);
    });

    it("are found in pools: the named one first", () => {
        const ip = { family: 4, value: 0x0a020009n } as const;
        for (const match of ["range", "usable"] as const) {
            expect([delegated.poolOf(ip, ["pool1"], match), delegated.poolOf(ip, [], match)]).toEqual([
                "pool1",
                "pool1",
            ]);
            expect(delegated.poolOf({ family: 4, value: 1n }, ["pool1"], match)).toBeUndefined();
        }
    });
});
