import { ipAllocations, ipPools, type IpAllocation, type IpRangeSpec } from "@antrea/crd";
import { pods } from "@antrea/kube";
import { FakeApi } from "./fake-api.ts";
import { TestPoolAgent, type TestPoolAgentOptions } from "./test-agent.ts";

/** Agents on an API server in memory. */
export class FakeCluster implements AsyncDisposable {
    readonly api = new FakeApi();
    readonly #agents: TestPoolAgent[] = [];

    addPool(name: string, ...ranges: readonly Partial<IpRangeSpec>[]): void {
        const ipVersion = ranges.some(({ gateway = "" }) => gateway.includes(":")) ? 6 : 4;
        const ipRanges = ranges.map((range) => ({ prefixLength: ipVersion === 4 ? 16 : 64, ...range }));
        const spec = { ipVersion, ipRanges };
        this.api.put(ipPools, { metadata: { name }, spec } as never);
    }

    agent(nodeName: string, options: Partial<TestPoolAgentOptions> = {}): TestPoolAgent {
        const agent = new TestPoolAgent({ nodeName, api: this.api, ...options }).start();
        this.#agents.push(agent);
        return agent;
    }

    /** A Pod of Namespace "default" that runs on a Node, of a StatefulSet if `set` is given. */
    addPod(name: string, o: { readonly nodeName: string; readonly set?: { name: string; uid: string } }): void {
        const ofSet = { apiVersion: "apps/v1", kind: "StatefulSet", controller: true, ...o.set };
        const metadata = {
            namespace: "default",
            name,
            uid: `uid-${name}`,
            ...(o.set === undefined ? {} : { ownerReferences: [ofSet] }),
        };
        this.api.put(pods, { metadata, spec: { nodeName: o.nodeName }, status: { phase: "Running" } } as never);
    }

    removePod(name: string): void {
        this.api.remove(pods, `default/${name}`);
    }

    allocations(): readonly IpAllocation[] {
        return this.api.all(ipAllocations);
    }

    /** Allocations as `ADDRESS HOLDER`, the holder's Pod name or, of a reservation, the owner's. */
    holders(): readonly string[] {
        return this.allocations()
            .map(({ spec: { address, owner, pod } }) => `${address} ${pod?.name ?? `${owner.name}-${owner.index}`}`)
            .sort();
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await Promise.all(this.#agents.map((agent) => agent.kill()));
    }
}
