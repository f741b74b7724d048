import { allocationName, blockText, ipAllocations, type IpAllocation } from "@antrea/crd";
import { formatIp, type IpAddress } from "@antrea/ip";
import { Informer, type ApiClient } from "@antrea/kube";
import { silent } from "../silent.ts";

/** The agent of one Node, as far as it claims addresses; with connections and watches of its own. */
export interface SimulatedAgent extends AsyncDisposable {
    /** Claims an address for the Pod of that number. Rejects when the Pod gets none. */
    claim(pod: number): Promise<void>;
    /** How often another was faster, since the start. */
    conflicts(): Promise<number>;
}

/** Which design an agent works by. */
export type Side = "claims" | "creates" | "list";

/** Where an agent finds its place in a run. */
export interface Place {
    readonly side: Side;
    readonly kubeconfig: string;
    /** Which agent it is, counted from 0. */
    readonly agent: number;
    /** Which opening of agents this is: Pods of different rounds are different Pods. */
    readonly round: number;
    readonly pool: string;
}

export interface SimulatedPod {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
    readonly containerId: string;
}

export function nodeNameOf(agent: number): string {
    return `bench-node-${String(agent).padStart(4, "0")}`;
}

/** A Pod whose texts are as long as those of real ones. */
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

/** The claim of an address for a Pod, as an agent writes it. */
export function claimOf(ip: IpAddress, pool: string, nodeName: string, pod: SimulatedPod): IpAllocation {
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

/** The watches that an agent holds: the claims of its Node, and those of a block that it claims in. */
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
