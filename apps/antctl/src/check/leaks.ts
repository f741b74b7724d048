import { type AllocationPod } from "@antrea/crd";
import { isDelegated, isFinished, isKnownOwner, type Allocation, type PodInfo } from "../cluster/index.ts";
import { finding, type Finding } from "./finding.ts";
import { type RecordOnNode, type Snapshot } from "./snapshot.ts";

/**
 * Returns a finding for each address that is allocated to a Pod which does not use it: it is gone or has ended, has
 * another address, or runs without a port for it in OVS (not concluded for a Node that was not read). A Pod that is
 * still starting is none, nor an owner of a kind that this version does not know.
 */
export function leaks(snapshot: Snapshot): readonly Finding[] {
    const allocationsOfInterface = Map.groupBy(snapshot.allocations, (allocation) => interfaceKey(allocation));
    return snapshot.allocations.flatMap((allocation) => {
        const { pod } = allocation;
        if (pod === undefined || !isKnownOwner(allocation.owner)) return [];
        const about = { address: allocation.address, pool: allocation.pool, node: pod.nodeName };
        const record = snapshot.recordsOf(allocation.address).find((each) => snapshot.isOf(each, pod));
        const text = leakOf({
            snapshot,
            allocation,
            pod,
            record,
            twins: allocationsOfInterface.get(interfaceKey(allocation)) ?? [],
        });
        return text === undefined ? [] : [finding("leak", text.rule, about, pod.uid, text.text)];
    });
}

interface Leak {
    readonly rule: string;
    readonly text: string;
}

function leakOf(o: {
    readonly snapshot: Snapshot;
    readonly allocation: Allocation;
    readonly pod: AllocationPod;
    readonly record: RecordOnNode | undefined;
    readonly twins: readonly Allocation[];
}): Leak | undefined {
    const { snapshot, allocation, pod, record } = o;
    const name = `Pod ${pod.namespace}/${pod.name}`;
    const living = snapshot.podOf(pod);
    // Its addresses are used as long as its container has an interface on the Pod network, also without its Pod.
    if (isDelegated(pod) && snapshot.records.some(({ containerId }) => containerId === pod.containerID)) {
        return undefined;
    }
    if (living === undefined || isFinished(living)) {
        const end = living === undefined ? "is gone" : "has ended";
        return { rule: "no-pod", text: `held for ${name}, which ${end}; ${remedy(snapshot, pod, record)}` };
    }
    if (record !== undefined) return undefined;
    if (isDelegated(pod)) return unusedByNetwork(living, snapshot, pod, name);
    const used = o.twins.find((twin) => twin !== allocation && hasRecord(snapshot, twin));
    if (used !== undefined) {
        const text = `held for ${name}, which uses ${used.address}; its agent frees this one${whenOn(snapshot)}`;
        return { rule: "second-claim", text };
    }
    return unusedBy(living, snapshot, allocation, pod, name);
}

/**
 * An interface that another plugin makes has no record of its own, and may have several addresses: they are used as long
 * as its container has an interface on the Pod network.
 */
function unusedByNetwork(living: PodInfo, snapshot: Snapshot, pod: AllocationPod, name: string): Leak | undefined {
    if (living.phase !== "Running" || snapshot.unread.has(pod.nodeName)) return undefined;
    const text = `held for interface ${pod.interface} (network ${pod.network}) of ${name}, of a container that is gone; its next container takes it, or the agent of Node ${pod.nodeName} frees it when the Pod is over${whenOn(snapshot)}`;
    return { rule: "no-container", text };
}

/** How the allocation of a deleted Pod is released. */
function remedy(snapshot: Snapshot, pod: AllocationPod, record: RecordOnNode | undefined): string {
    if (snapshot.gate === "off") {
        return "the feature gate AntreaIPAM is off: it is freed when the gate is on again, and by nobody before";
    }
    if (!snapshot.hasNode(pod.nodeName)) {
        return `Node ${pod.nodeName} is gone too: antrea-controller frees it 5 minutes after the Node`;
    }
    const node = snapshot.pools.nodes.find(({ name }) => name === pod.nodeName);
    if (node?.ready === false) {
        return `Node ${pod.nodeName} is not ready: if it is off for good, delete it or taint it node.kubernetes.io/out-of-service`;
    }
    if (record !== undefined) {
        return `port ${record.port} of Node ${record.node} still has it: its container runs on, or its agent has not yet cleaned up`;
    }
    if (snapshot.unread.has(pod.nodeName)) {
        return `OVS of Node ${pod.nodeName} was not seen, its container may run on; its agent frees it when it can`;
    }
    return `the agent of Node ${pod.nodeName} frees it within a minute or two, else read that agent's log`;
}

/** Notes that nothing is released while IPPools are disabled. */
function whenOn({ gate }: Snapshot): string {
    return gate === "off" ? " when the feature gate AntreaIPAM is on again" : "";
}

/** A running Pod has its address in OVS; a starting one may not have it yet. */
function unusedBy(
    living: PodInfo,
    snapshot: Snapshot,
    allocation: Allocation,
    pod: AllocationPod,
    name: string,
): Leak | undefined {
    if (living.phase !== "Running" || living.ips.length === 0) return undefined;
    const reported = pod.interface !== "eth0" || living.ips.includes(allocation.address);
    if (!reported) {
        const text = `held for ${name}, which runs with ${living.ips.join(", ")}; the agent of Node ${pod.nodeName} frees it${whenOn(snapshot)}`;
        return { rule: "other-address", text };
    }
    if (snapshot.unread.has(pod.nodeName)) return undefined;
    const text = `held for ${name}, which runs, but OVS of Node ${pod.nodeName} has no port with it: restart the Pod`;
    return { rule: "no-record", text };
}

function hasRecord(snapshot: Snapshot, allocation: Allocation): boolean {
    const { pod } = allocation;
    return pod !== undefined && snapshot.recordsOf(allocation.address).some((record) => snapshot.isOf(record, pod));
}

function interfaceKey({ pod, ip, name }: Allocation): string {
    return pod === undefined ? name : [pod.uid, pod.interface, ip.family].join(" ");
}
