import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { ipPools } from "@antrea/crd";
import { formatIp, parseIp, parsePrefix } from "@antrea/ip";
import type { SubnetWired, SubnetWiring } from "../../../src/features/ip-pools/index.ts";
import { NodeSubnet } from "../../../src/features/pod-network/node-subnet.ts";
import { OneNode } from "./support/one-node.ts";
import type { TestPoolAgent } from "./support/test-agent.ts";

/**
 * An allocation outlives its pool, and what the pool has: both can be deleted or changed by force. Node "b" has the podCIDR with the
 * address of such an allocation, and its agent starts when the pool is as it is.
 */
let node: OneNode;
const podCidr = parsePrefix("10.2.0.0/24");
const limit = (): AbortSignal => AbortSignal.timeout(60_000);

beforeEach(async () => {
    node = await OneNode.start();
    await node.agent.pools.synced(limit());
});
afterEach(() => node[Symbol.asyncDispose]());

async function started(): Promise<TestPoolAgent> {
    const agent = node.cluster.agent("b", { confirmMs: 0 });
    await agent.pools.podCidrs.guard([podCidr], limit());
    return agent;
}

class OneInterface implements SubnetWiring {
    isDown = false;
    readonly #wired: SubnetWired;

    constructor(ip: string) {
        this.#wired = {
            containerId: "c-b",
            ifName: "eth0",
            podNamespace: "default",
            podName: "pb",
            podUid: "uid-pb",
            addresses: [parseIp(ip)],
        };
    }

    interfaces = (): readonly SubnetWired[] => [this.#wired];
    linkExists = (): Promise<boolean> => Promise.resolve(true);
    exclusively = <T>(_container: string, work: () => Promise<T>): Promise<T> => work();
    isIsolated = (): boolean => this.isDown;
    isolate = (): Promise<void> => Promise.resolve(void (this.isDown = true));
    reconnect = (): Promise<void> => Promise.resolve(void (this.isDown = false));
}

describe.each([
    ["has the address", () => undefined],
    ["is gone", () => node.cluster.api.remove(ipPools, "pool1")],
    [
        "no longer contains the address",
        () => void node.cluster.addPool("pool1", { cidr: "10.77.0.0/24", gateway: "10.77.0.1" }),
    ],
])("an address that is claimed from a pool that %s", (_, change) => {
    it("is given to no Pod by the Node that has it in its podCIDR", async () => {
        const ip = await node.added("p1");
        change();
        const { pools } = await started();
        const subnet = new NodeSubnet(
            [podCidr],
            () => parseIp(ip).value - podCidr.base,
            (one) => pools.podCidrs.isClaimed(one),
        );
        expect(pools.podCidrs.isClaimed(parseIp(ip))).toBe(true);
        expect(subnet.allocate("c-b").map((one) => formatIp(one.ip))).not.toContain(ip);
    });

    it("has its Pod there isolated, if that was faster", async () => {
        const ip = await node.added("p1");
        change();
        const { pools } = await started();
        const wiring = new OneInterface(ip);
        await pools.podCidrs.check(wiring, limit());
        expect(wiring.isDown).toBe(true);
    });

    it("has its Pod there isolated, if the allocation comes later", async () => {
        const { pools } = await started();
        const wiring = new OneInterface("10.2.0.77");
        const checked = Promise.withResolvers<void>();
        pools.podCidrs.onChange(() => checked.resolve());
        change();
        node.put("10.2.0.77");
        await checked.promise;
        await pools.podCidrs.check(wiring, limit());
        expect(wiring.isDown).toBe(true);
    });
});
