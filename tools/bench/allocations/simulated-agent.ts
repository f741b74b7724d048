import { allocationName, blockText, ipAllocations, type IpAllocation } from "@antrea/crd";
import { formatIp, type IpAddress } from "@antrea/ip";
import { Informer, type ApiClient } from "@antrea/kube";
import { silent } from "../silent.ts";

/** The allocating part of one Node's agent, with its own connections and watches. */
export interface SimulatedAgent extends AsyncDisposable {
    /** Allocates an address for the Pod of this number. Rejects if the Pod gets none. */
    claim(pod: number): Promise<void>;
    /** Number of conflicts since the start. */
    conflicts(): Promise<number>;
}

/** The design that an agent implements. */
export type Side = "allocations" | "creates" | "list";

/** What an agent needs to take part in a run. */
export interface Place {
    readonly side: Side;
    readonly kubeconfig: string;
    /** Index of the agent, from 0. */
    readonly agent: number;
    /** Index of the round: each round uses different Pods. */
    readonly round: number;
    readonly pool: string;
}

export interface SimulatedPod {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
    readonly containerId: string;
}

/** The Node name of a simulated agent. */
export function nodeNameOf(agent: number): string {
    return `bench-node-${String(agent).padStart(4, "0")}`;
}

/** A Pod with strings as long as those of real Pods. */
export function podOf({ agent, round }: Pick<Place, "agent" | "round">, pod: number): SimulatedPod {
    const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, "0");
    const uid = `${hex(agent, 8)}-${hex(round, 4)}-4000-8000-${hex(pod, 12)}`;
    return {
        namespace: "bench",
        name: `web-frontend-7c5ddbdf54-${hex(agent, 3)}${hex(pod, 5)}`,
        uid,
        containerId: uid.replaceAll("-", "").padStart(64, "c"),
    };
}

/** The IPAllocation of a Pod, as an agent writes it. */
export function allocationOf(ip: IpAddress, pool: string, nodeName: string, pod: SimulatedPod): IpAllocation {
    const { namespace, name, uid, containerId } = pod;
    return {
        metadata: { name: allocationName(ip) },
        spec: {
            address: formatIp(ip),
            block: blockText(ip),
            pool,
            state: "Allocated",
            owner: { kind: "Pod", namespace, name, uid },
            pod: { namespace, name, uid, nodeName, containerID: containerId, interface: "eth0" },
        },
    };
}

/** The watches of an agent: the allocations of its Node, and those of a block that it allocates from. */
export async function openWatches(api: ApiClient, nodeName: string, block: string): Promise<AsyncDisposable> {
    await using stack = new AsyncDisposableStack();
    const never = new AbortController().signal;
    const informers = [`spec.pod.nodeName=${nodeName}`, `spec.block=${block}`].map((fieldSelector) =>
        stack.use(new Informer({ api, logger: silent }, { resource: ipAllocations, fieldSelector })),
    );
    for (const informer of informers) informer.start(never);
    await Promise.all(informers.map((informer) => informer.synced(never)));
    return stack.move();
}
