import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { parseIp, parsePrefix } from "@antrea/ip";
import { eventually } from "@antrea/kube/testing";
import { PoolCluster } from "./support/pool-cluster.ts";

let cluster: PoolCluster;

beforeAll(async () => {
    cluster = await PoolCluster.start();
});
afterAll(() => cluster[Symbol.asyncDispose]());

it("claims in a podCIDR that a Node was given later are known to its agent, whoever has them", async () => {
    const signal = AbortSignal.timeout(30_000);
    const address = parseIp("10.10.1.20");
    await cluster.addPool("wide", { cidr: "10.10.0.0/16", gateway: "10.10.0.1" });
    await cluster.addPool("elsewhere", { cidr: "10.20.0.0/16", gateway: "10.20.0.1" });
    const other = cluster.agent("other");
    await other.claim("p1", { pools: ["wide"], fixed: [address] });
    const agent = cluster.agent("late");
    await agent.pools.guard([parsePrefix("10.10.1.0/24")], signal);
    expect(agent.pools.isClaimed(address)).toBe(true);
    expect(agent.pools.isClaimed(parseIp("10.10.1.21"))).toBe(false);
    await other.release("p1");
    await eventually(() => !agent.pools.isClaimed(address));
});
