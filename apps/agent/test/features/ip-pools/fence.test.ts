import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { ipAllocations, ipPools, type IpAllocation, type IpRangeSpec } from "@antrea/crd";
import { formatIp, parseIp } from "@antrea/ip";
import { newAllocation } from "../../../src/features/ip-pools/allocations.ts";
import { type ClaimedAddress, type IpPoolErrorCode } from "../../../src/features/ip-pools/index.ts";
import { away, lost } from "./support/fake-api.ts";
import { FakeCluster } from "./support/fake-cluster.ts";
import { FakeWiring } from "./support/fake-wiring.ts";
import { type TestPoolAgent } from "./support/test-agent.ts";

const wide = { start: "10.2.0.10", end: "10.2.0.19", gateway: "10.2.0.1", prefixLength: 24, vlan: 2 };
const narrow = { ...wide, end: "10.2.0.10" };

let cluster: FakeCluster;
let agent: TestPoolAgent;

beforeEach(async () => {
    cluster = new FakeCluster();
    cluster.addPool("pool1", wide);
    // Takes the last free address, which a pool that is made smaller loses first.
    agent = cluster.agent("a", { random: () => 0.999, confirmMs: 0, reservationWaitMs: 50 });
    await agent.pools.synced(AbortSignal.timeout(60_000));
});
afterEach(() => cluster[Symbol.asyncDispose]());

/** The pool is another from here on, and the agent's watch does not report it. */
function changeUnseen(...ranges: readonly Partial<IpRangeSpec>[]): void {
    cluster.api.holdEvents();
    cluster.addPool("pool1", ...ranges);
}

/** The same, for a pool that was deleted in between. */
function replaceUnseen(...ranges: readonly Partial<IpRangeSpec>[]): void {
    cluster.api.holdEvents();
    cluster.api.remove(ipPools, "pool1");
    cluster.addPool("pool1", ...ranges);
}

function claim(pod: string, containerId = `c-${pod}`): Promise<readonly ClaimedAddress[]> {
    return agent.claimAddresses(pod, { pools: ["pool1"], containerId });
}

function versionOfPool(): { poolUID: string | undefined; poolGeneration: number | undefined } {
    const { uid, generation } = cluster.api.get(ipPools, "pool1")?.metadata ?? {};
    return { poolUID: uid, poolGeneration: generation };
}

function reservation(ip: string): void {
    const owner = { kind: "StatefulSet", namespace: "default", name: "web", index: 0 } as const;
    const identity = { namespace: "default", name: "web-0", uid: "" };
    const { metadata, spec } = newAllocation(parseIp(ip), "pool1", {
        pod: identity,
        nodeName: "",
        containerId: "",
        ifName: "",
    });
    const { pod: _, ...rest } = spec;
    cluster.api.put(ipAllocations, { metadata, spec: { ...rest, owner, state: "Reserved" } } as never);
}

function claimReserved(): Promise<readonly ClaimedAddress[]> {
    return agent.claimAddresses("web-0", { pools: ["pool1"], statefulSet: { name: "web", ordinal: 0 } });
}

describe("an allocation", () => {
    it("records by which definition of its pool it was made, and costs one GET of the pool", async () => {
        cluster.api.requests.length = 0;
        await claim("p1");
        expect(cluster.allocations()).toMatchObject([{ spec: versionOfPool() }]);
        expect(cluster.api.requests.filter((request) => !request.startsWith("list"))).toEqual([
            expect.stringMatching(/^create ipallocations 10\.2\.0\./),
            "find ippools pool1",
        ]);
    });

    it("of an address that was taken out of the pool unseen is freed, and another one is claimed", async () => {
        changeUnseen(narrow);
        const claimed = await claim("p1");
        expect(claimed.map(({ ip }) => formatIp(ip))).toEqual(["10.2.0.10"]);
        expect(cluster.holders()).toEqual(["10.2.0.10 p1"]);
        expect(cluster.allocations()).toMatchObject([{ spec: versionOfPool() }]);
    });

    it.each<[string, Partial<IpRangeSpec>, string, typeof changeUnseen]>([
        ["VLAN", { vlan: 7 }, "changed", changeUnseen],
        ["VLAN", { vlan: 7 }, "replaced", replaceUnseen],
        ["gateway", { gateway: "10.2.0.254" }, "changed", changeUnseen],
        ["gateway", { gateway: "10.2.0.254" }, "replaced", replaceUnseen],
        ["prefix length", { prefixLength: 16 }, "changed", changeUnseen],
    ])("has the new %s %o of a pool that was %s unseen", async (_name, change, _how, how) => {
        how({ ...wide, ...change });
        const { gateway, prefixLength, vlan } = { ...wide, ...change };
        const [claimed] = await claim("p1");
        expect(claimed).toMatchObject({ gateway: parseIp(gateway), prefixLength, vlan });
        expect(cluster.allocations()).toMatchObject([{ spec: versionOfPool() }]);
    });

    it("of the address that is the gateway now is freed", async () => {
        changeUnseen({ ...wide, gateway: "10.2.0.19" });
        const [claimed] = await claim("p1");
        expect(formatIp(claimed?.ip ?? parseIp("::"))).toBe("10.2.0.18");
    });

    it("is freed when the pool is gone", async () => {
        cluster.api.holdEvents();
        cluster.api.remove(ipPools, "pool1");
        await expect(claim("p1")).rejects.toMatchObject({ code: "NO_POOL" satisfies IpPoolErrorCode });
        expect(cluster.allocations()).toEqual([]);
    });

    it("adopted from an earlier sandbox has what the pool defines now", async () => {
        await claim("p1", "c1");
        changeUnseen({ ...wide, vlan: 7 });
        expect(await claim("p1", "c2")).toMatchObject([{ vlan: 7 }]);
        expect(cluster.allocations()).toMatchObject([{ spec: { ...versionOfPool(), pod: { containerID: "c2" } } }]);
    });

    it("of a reservation has what the pool defines now", async () => {
        reservation("10.2.0.15");
        changeUnseen({ ...wide, vlan: 7 });
        expect(await claimReserved()).toMatchObject([{ ip: parseIp("10.2.0.15"), vlan: 7 }]);
        expect(cluster.allocations()).toMatchObject([{ spec: { state: "Allocated", ...versionOfPool() } }]);
    });

    it("of a reservation that is not in its pool any more goes back to its set", async () => {
        reservation("10.2.0.15");
        changeUnseen(narrow);
        await expect(claimReserved()).rejects.toMatchObject({ code: "NOT_RESERVED" satisfies IpPoolErrorCode });
        expect(cluster.allocations()).toMatchObject([{ spec: { address: "10.2.0.15", state: "Reserved" } }]);
    });

    it("waits until the pool could be read", async () => {
        let left = 2;
        cluster.api.fault = (method, plural) => {
            if (method !== "find" || plural !== "ippools" || left === 0) return undefined;
            left -= 1;
            return left === 1 ? { refuse: away() } : { lose: lost() };
        };
        changeUnseen({ ...wide, vlan: 7 });
        expect(await claim("p1")).toMatchObject([{ vlan: 7 }]);
    });

    it("is given up when the pool cannot be read in time", async () => {
        cluster.api.fault = (method, plural) =>
            method === "find" && plural === "ippools" ? { refuse: away() } : undefined;
        await expect(agent.claim("p1", { pools: ["pool1"] }, AbortSignal.timeout(300))).rejects.toThrow();
        expect(cluster.allocations()).toEqual([]);
    });

    it("of a pool that changes without end is given up with a reason", async () => {
        let vlan = 100;
        cluster.api.before = (method, plural) => {
            if (method === "create" && plural === "ipallocations") changeUnseen({ ...wide, vlan: (vlan += 1) });
            return Promise.resolve();
        };
        await expect(claim("p1")).rejects.toMatchObject({
            code: "POOL_CHANGED" satisfies IpPoolErrorCode,
            message: expect.stringContaining("IPPool pool1"),
        });
        expect(cluster.allocations()).toEqual([]);
    });

    it("is not misled by the watch when it reports the older pool at last", async () => {
        changeUnseen({ ...wide, vlan: 3 });
        replaceUnseen({ ...wide, vlan: 7 });
        await claim("p1");
        cluster.api.requests.length = 0;
        cluster.api.releaseEvents();
        await new Promise((resolve) => setTimeout(resolve, 20));
        expect(await claim("p2")).toMatchObject([{ vlan: 7 }]);
        expect(cluster.api.requests.filter((request) => request.startsWith("find"))).toEqual(["find ippools pool1"]);
    });
});

describe("a running container", () => {
    let wiring: FakeWiring;

    async function reconcile(): Promise<void> {
        await new Promise((resolve) => setTimeout(resolve, 20));
        await agent.pools.reconcile(wiring, AbortSignal.timeout(60_000));
    }

    const changed = (): Promise<number> => agent.metric("antrea_agent_ipam_pool_changed_addresses");
    const reportedEvents = (): readonly string[] =>
        agent.events.filter(({ reason }) => reason === "PoolChanged").map(({ note }) => note);

    beforeEach(async () => {
        wiring = new FakeWiring();
        wiring.wire("p1", await claim("p1"));
    });

    it.each<[string, readonly Partial<IpRangeSpec>[], string]>([
        ["gateway", [{ ...wide, gateway: "10.2.0.254" }], "gateway 10.2.0.254"],
        ["VLAN", [{ ...wide, vlan: 7 }], "VLAN 7"],
        ["prefix length", [{ ...wide, prefixLength: 16 }], "prefix length 16"],
        ["ranges", [narrow], "no longer contains the address"],
    ])(
        "keeps its traffic when the %s of its pool changes, and an event of its Pod reports it once",
        async (_, ranges, text) => {
            cluster.addPool("pool1", ...ranges);
            await reconcile();
            await reconcile();
            expect(reportedEvents()).toEqual([expect.stringContaining(text)]);
            expect(reportedEvents()).toEqual([expect.stringContaining("10.2.0.19")]);
            expect(await changed()).toBe(1);
            expect(wiring.cut.size).toBe(0);
            expect(cluster.holders()).toEqual(["10.2.0.19 p1"]);
            wiring.unwire("c-p1");
            await reconcile();
            expect(await changed()).toBe(0);
        },
    );

    it("of two pools with different VLANs is as they say, when one of them only grows", async () => {
        const six = { start: "fd02::10", end: "fd02::1f", gateway: "fd02::1", prefixLength: 64, vlan: 7 };
        const four = { ...wide, start: "10.2.0.50", end: "10.2.0.59", vlan: 0 };
        cluster.addPool("pool6", six);
        cluster.addPool("pool4", four);
        wiring.wire("p2", await agent.claimAddresses("p2", { pools: ["pool4", "pool6"] }));
        cluster.addPool("pool4", four, { ...four, start: "10.2.0.70", end: "10.2.0.79" });
        await reconcile();
        await reconcile();
        expect([await changed(), reportedEvents()]).toEqual([0, []]);
    });

    it("reports it on each Pod, once for each definition of the pool", async () => {
        wiring.wire("p2", await claim("p2"));
        for (const gateway of ["10.2.0.254", "10.2.0.253"]) {
            cluster.addPool("pool1", { ...wide, gateway });
            await reconcile();
            await reconcile();
        }
        expect(await changed()).toBe(2);
        const pods = agent.events
            .filter(({ reason }) => reason === "PoolChanged")
            .map(({ regarding }) => regarding.name);
        expect(pods).toEqual(["p1", "p2", "p1", "p2"]);
        expect(
            reportedEvents()
                .slice(2)
                .every((note) => note.includes("gateway 10.2.0.253")),
        ).toBe(true);
    });

    it("reports it once when its pool is gone for more than a moment (found by the simulation)", async () => {
        cluster.api.remove(ipPools, "pool1");
        await reconcile();
        expect(reportedEvents()).toEqual([]);
        await reconcile();
        await reconcile();
        expect(reportedEvents()).toEqual([expect.stringContaining("IPPool pool1 no longer exists")]);
        expect(await changed()).toBe(1);
        expect(wiring.cut.size).toBe(0);
        cluster.addPool("pool1", wide);
        await reconcile();
        expect(await changed()).toBe(0);
    });

    it.each<[string, () => void, string]>([
        ["is gone", () => cluster.api.remove(ipPools, "pool1"), "IPPool pool1 no longer exists"],
        ["changed", () => cluster.addPool("pool1", { ...wide, vlan: 7 }), "VLAN 7"],
    ])(
        "reports it when its pool %s before its agent started, and no Pod asks for an address",
        async (_, change, text) => {
            change();
            agent = cluster.agent("a", { confirmMs: 0 });
            for (let pass = 0; pass < 3; pass += 1) await reconcile();
            expect(reportedEvents()).toEqual([expect.stringContaining(text)]);
        },
    );

    it("is as its pool defines when the pool only grows", async () => {
        cluster.addPool("pool1", wide, { ...wide, start: "10.2.0.30", end: "10.2.0.39" });
        await reconcile();
        expect(reportedEvents()).toEqual([]);
        expect(await changed()).toBe(0);
    });

    it("whose allocation an older agent made is checked too", async () => {
        const [made] = cluster.allocations();
        const { poolUID: _, poolGeneration: __, ...spec } = made?.spec as IpAllocation["spec"];
        cluster.api.remove(ipAllocations, "10.2.0.19");
        cluster.api.put(ipAllocations, { metadata: { name: "10.2.0.19" }, spec } as never);
        await reconcile();
        expect(reportedEvents()).toEqual([]);
        cluster.addPool("pool1", { ...wide, vlan: 7 });
        await reconcile();
        expect(reportedEvents()).toHaveLength(1);
    });
});
