import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { ipAllocations } from "@antrea/crd";
import { formatIp, parseIp } from "@antrea/ip";
import { pods } from "@antrea/kube";
import { type ClaimedAddress } from "../../src/ip-pools/index.ts";
import { newClaim, type Holder } from "../../src/ip-pools/claims.ts";
import { FakeCluster } from "./support/fake-cluster.ts";
import { FakeWiring } from "./support/fake-wiring.ts";
import { type TestPoolAgent } from "./support/test-agent.ts";

let cluster: FakeCluster;
let wiring: FakeWiring;
let agent: TestPoolAgent;

async function reconcile(times = 1): Promise<void> {
    // Events of what was done before come first.
    await new Promise((resolve) => setTimeout(resolve, 15));
    for (let at = 0; at < times; at += 1) await agent.pools.reconcile(wiring, AbortSignal.timeout(10_000));
}

const claimed = (pod: string): Promise<readonly ClaimedAddress[]> => agent.claimAddresses(pod, { pools: ["pool1"] });

async function added(pod: string): Promise<string> {
    const addresses = await claimed(pod);
    wiring.wire(pod, addresses);
    return addresses.map(({ ip }) => formatIp(ip)).join();
}

function put(ip: string, pod: string, changes: Partial<Holder> = {}): void {
    const identity = { namespace: "default", name: pod, uid: `uid-${pod}` };
    const holder = { pod: identity, nodeName: "far", containerId: `c-${pod}`, ifName: "eth0", ...changes };
    cluster.api.remove(ipAllocations, ip);
    cluster.api.put(ipAllocations, newClaim(parseIp(ip), "pool1", holder));
}

beforeEach(async () => {
    cluster = new FakeCluster();
    cluster.addPool("pool1", { cidr: "10.2.0.0/24", gateway: "10.2.0.1" });
    wiring = new FakeWiring();
    agent = cluster.agent("a", { confirmMs: 0 });
    await agent.pools.own.synced(AbortSignal.timeout(5_000));
});
afterEach(() => cluster[Symbol.asyncDispose]());

describe("a record that was rebuilt from little, and names no Pod", () => {
    it("keeps the claim of its container, and that of its address, for the Pod that has it", async () => {
        const addresses = await claimed("p1");
        wiring.wire("", addresses, "c-p1", "");
        await reconcile(3);
        expect(cluster.claims().map(({ spec }) => spec.pod?.uid)).toEqual(["uid-p1"]);
        expect([...wiring.cut]).toEqual([]);
    });

    it("of another interface keeps no claim", async () => {
        const addresses = await claimed("p1");
        wiring.wire("", addresses, "c-other", "");
        wiring.unwire("c-other");
        await reconcile(2);
        expect(cluster.claims()).toEqual([]);
    });

    it("says of two ADDs of the Pod which claim is in use, and the other is freed although the Pod lives", async () => {
        const metadata = { namespace: "default", name: "p1", uid: "uid-p1" };
        cluster.api.put(pods, { metadata, spec: { nodeName: "a" }, status: { phase: "Running" } } as never);
        const [address] = await claimed("p1");
        if (address === undefined) throw new Error("nothing was claimed");
        put("10.2.0.200", "p1", { containerId: "c-old", nodeName: "a" });
        wiring.wire("", [address], "c-p1", "");
        await reconcile(3);
        expect(cluster.holders()).toEqual([`${formatIp(address.ip)} p1`]);
    });

    it("is no reason to free a claim of the Pod while another ADD of a Pod without a UID is under way", async () => {
        const ip = await added("p1");
        wiring.unwire("c-p1");
        wiring.adding.add("");
        await reconcile(2);
        expect(cluster.holders()).not.toContain(`${ip} p1`);
    });
});

describe("what is told of an isolated interface", () => {
    it("is told anew when its container ends and another one meets the same", async () => {
        await added("p1");
        const [claim] = cluster.claims();
        put(claim?.spec.address ?? "", "other");
        await reconcile(2);
        const told = (): number => agent.events.filter(({ reason }) => reason === "AddressHeldElsewhere").length;
        const first = told();
        const [wired] = wiring.interfaces();
        wiring.unwire("c-p1");
        await reconcile();
        wiring.wire(
            "p1",
            (wired?.addresses ?? []).map((one) => ({ ...one, vlan: 0 })),
        );
        await reconcile();
        expect(told()).toBe(first + 1);
    });

    it("is counted, and not any more when it is gone", async () => {
        await added("p1");
        put(cluster.claims()[0]?.spec.address ?? "", "other");
        await reconcile(2);
        expect(await agent.metric("antrea_agent_ipam_isolated_interfaces")).toBe(1);
        wiring.unwire("c-p1");
        expect(await agent.metric("antrea_agent_ipam_isolated_interfaces")).toBe(0);
    });
});
