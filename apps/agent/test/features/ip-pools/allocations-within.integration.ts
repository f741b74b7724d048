import { afterAll, afterEach, beforeAll, expect, it } from "@jest/globals";
import { ipAllocations, ipPools, type IpAllocationSpec } from "@antrea/crd";
import { parseIp, parsePrefix } from "@antrea/ip";
import { isKubeError } from "@antrea/kube";
import { eventually } from "@antrea/kube/testing";
import { PoolCluster } from "./support/pool-cluster.ts";

let cluster: PoolCluster;

beforeAll(async () => {
    cluster = await PoolCluster.start();
});
afterAll(() => cluster[Symbol.asyncDispose]());
afterEach(() => cluster.clear());

it("allocations in a podCIDR that a Node was given later are known to its agent, whoever has them", async () => {
    const signal = AbortSignal.timeout(60_000);
    const address = parseIp("10.10.1.20");
    await cluster.addPool("wide", { cidr: "10.10.0.0/16", gateway: "10.10.0.1" });
    await cluster.addPool("elsewhere", { cidr: "10.20.0.0/16", gateway: "10.20.0.1" });
    const other = cluster.agent("other");
    await other.claim("p1", { pools: ["wide"], fixed: [address] });
    const agent = cluster.agent("late");
    await agent.pools.podCidrs.guard([parsePrefix("10.10.1.0/24")], signal);
    expect(agent.pools.podCidrs.isClaimed(address)).toBe(true);
    expect(agent.pools.podCidrs.isClaimed(parseIp("10.10.1.21"))).toBe(false);
    await other.release("p1");
    await eventually(() => !agent.pools.podCidrs.isClaimed(address));
});

it.each([
    ["10.10.1.0/24", "10.10.0.0/16", "10.77.0.0/16", "10.10.1.20", "10.10.1.21"],
    ["10.10.0.0/16", "10.10.0.0/16", "10.77.0.0/16", "10.10.7.20", "10.10.7.21"],
    ["fd10:10:0:1::/64", "fd10:10:0:1::/64", "fd77::/64", "fd10:10:0:1::20", "fd10:10:0:1::21"],
    ["fd10:10:0:1::/64", "fd10:10:0:1::/64", "fd77::/64", "fd10:10:0:1::a020", "fd10:10:0:1::a021"],
])("allocations in podCIDR %s are known whose pools are gone or have other ranges by now", async (...texts) => {
    const signal = AbortSignal.timeout(60_000);
    const [podCidr, range, elsewhere, first, second] = texts;
    const gateway = (cidr: string): string => cidr.replace(/0?\/.*$/, "fe").replace(/\.fe$/, ".254");
    const addresses = [parseIp(first), parseIp(second)] as const;
    const other = cluster.agent("other");
    for (const [at, name] of ["gone", "moved"].entries()) {
        await cluster.addPool(name, { cidr: range, gateway: gateway(range) });
        await other.claim(name, { pools: [name], fixed: addresses.slice(at, at + 1) });
    }
    // No webhook is there that would refuse it.
    await cluster.api.delete(ipPools, { name: "gone" });
    const moved = await cluster.api.get(ipPools, { name: "moved" });
    const ipRanges = moved.spec.ipRanges.map((one) => ({ ...one, cidr: elsewhere, gateway: gateway(elsewhere) }));
    await cluster.api.update(ipPools, { ...moved, spec: { ...moved.spec, ipRanges } });

    const { pools } = cluster.agent("late");
    await pools.podCidrs.guard([parsePrefix(podCidr)], signal);
    const isClaimed = (): unknown[] => addresses.map((ip) => pools.podCidrs.isClaimed(ip));
    await eventually(() => !isClaimed().includes(undefined));
    expect(isClaimed()).toEqual([true, true]);
    expect(pools.podCidrs.isClaimed({ ...addresses[0], value: addresses[0].value + 9n })).toBe(false);
    await other.release("gone");
    await eventually(() => pools.podCidrs.isClaimed(addresses[0]) === false);
    expect(pools.podCidrs.isClaimed(addresses[1])).toBe(true);
});

it("an allocation is not stored with another block than its address is of, or another name than its address has", async () => {
    const metadata = { name: "10.10.1.20" };
    const pod = { namespace: "default", name: "p", uid: "u" };
    const spec: IpAllocationSpec = {
        address: "10.10.1.20",
        block: "10.10.1.0/24",
        pool: "gone",
        state: "Allocated",
        owner: { kind: "Pod", ...pod },
        pod: { ...pod, nodeName: "n", containerID: "c", interface: "eth0" },
    };
    for (const wrong of [
        { metadata, spec: { ...spec, block: "10.10.2.0/24" } },
        { metadata, spec: { ...spec, block: "10.10.0.0/16" } },
        { metadata: { name: "10.10.1.21" }, spec },
    ]) {
        const refusal = await cluster.api.create(ipAllocations, wrong).then(
            () => undefined,
            (error: unknown) => error,
        );
        expect(isKubeError(refusal, "INVALID")).toBe(true);
    }
    const made = await cluster.api.create(ipAllocations, { metadata, spec });
    const moved = { ...made, spec: { ...made.spec, address: "10.10.2.20", block: "10.10.2.0/24" } };
    const refusal = await cluster.api.update(ipAllocations, moved).then(
        () => undefined,
        (error: unknown) => error,
    );
    expect(isKubeError(refusal, "INVALID")).toBe(true);
});
