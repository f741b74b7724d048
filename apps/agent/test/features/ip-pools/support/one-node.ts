import { ipAllocations, type IpAllocation, type IpAllocationSpec } from "@antrea/crd";
import { parseIp } from "@antrea/ip";
import { pods, type NamedPodUid } from "@antrea/kube";
import { newAllocation } from "../../../../src/features/ip-pools/allocations.ts";
import { type ClaimedAddress } from "../../../../src/features/ip-pools/index.ts";
import { FakeCluster } from "./fake-cluster.ts";
import { FakeWiring } from "./fake-wiring.ts";
import { type TestPoolAgent } from "./test-agent.ts";

/** Of the Pods in these tests. */
export function identityOf(name: string): NamedPodUid {
    return { namespace: "default", name, uid: `uid-${name}` };
}

export interface BegunPass {
    /** Undefined, or the error that the pass ended with. */
    readonly outcome: Promise<unknown>;
    isOver: boolean;
}

/** The agent of Node "a", the interfaces there, and IPPool "pool1", 10.2.0.0/24. */
export class OneNode implements AsyncDisposable {
    readonly cluster = new FakeCluster();
    readonly wiring = new FakeWiring();
    /** Another one may take its place, beside it. */
    agent: TestPoolAgent;

    private constructor() {
        this.cluster.addPool("pool1", { cidr: "10.2.0.0/24", gateway: "10.2.0.1" });
        this.agent = this.cluster.agent("a", { confirmMs: 0 });
    }

    /** The agent knows its allocations when this resolves. */
    static async start(): Promise<OneNode> {
        const node = new OneNode();
        await node.agent.pools.own.synced(AbortSignal.timeout(60_000));
        return node;
    }

    addPod(name: string, uid = `uid-${name}`, phase = "Running"): void {
        const metadata = { ...identityOf(name), uid };
        this.cluster.api.put(pods, { metadata, spec: { nodeName: "a" }, status: { phase } } as never);
    }

    async reconcile(times = 1): Promise<void> {
        // Events of what was done before come first.
        await new Promise((resolve) => setTimeout(resolve, 15));
        for (let at = 0; at < times; at += 1) {
            await this.agent.pools.reconcile(this.wiring, AbortSignal.timeout(60_000));
        }
    }

    /** Begins a pass of the reconcile. */
    pass(): BegunPass {
        const outcome = this.agent.pools.reconcile(this.wiring, new AbortController().signal).then(
            () => undefined,
            (error: unknown) => error,
        );
        const begun = { outcome, isOver: false };
        void outcome.then(() => (begun.isOver = true));
        return begun;
    }

    async claimed(pod: string, containerId = `c-${pod}`): Promise<readonly ClaimedAddress[]> {
        return this.agent.claimAddresses(pod, { pools: ["pool1"], containerId });
    }

    /** Claimed, with a record of the interface; gives the address of the allocation. */
    async added(pod: string): Promise<string> {
        this.wiring.wire(pod, await this.claimed(pod));
        return this.cluster.allocations().find(({ spec }) => spec.pod?.uid === `uid-${pod}`)?.spec.address ?? "";
    }

    /** Stores an allocation, in place of what is there: of a Pod on Node "far", unless `change` has another spec. */
    put(ip: string, change: Partial<IpAllocationSpec> = {}, pod = "other"): void {
        const holder = { pod: identityOf(pod), nodeName: "far", containerId: "c", ifName: "eth0" };
        const allocation: IpAllocation = newAllocation(parseIp(ip), "pool1", holder);
        this.cluster.api.remove(ipAllocations, ip);
        this.cluster.api.put(ipAllocations, { ...allocation, spec: { ...allocation.spec, ...change } } as never);
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.cluster[Symbol.asyncDispose]();
    }
}
