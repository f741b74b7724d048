import { formatIp } from "@antrea/ip";
import { type NamedPodUid } from "@antrea/kube";
import { hasOwnAddress } from "../cluster/index.ts";
import { finding, type Finding } from "./finding.ts";
import { type Snapshot } from "./snapshot.ts";

interface User {
    /** Identifier of the Pod, independent of the source that reported it. */
    readonly id: string;
    readonly text: string;
}

/**
 * Returns a finding for each address with more than one user, which is an interface of a Pod: by allocations, ports in
 * OVS and the status of running Pods that are not being deleted.
 */
export function duplicates(snapshot: Snapshot): readonly Finding[] {
    const byAddress = Map.groupBy(usersOf(snapshot), ({ address }) => address);
    return [...byAddress].flatMap(([address, seen]) => {
        const ids = new Set(seen.map(({ user }) => user.id));
        if (ids.size < 2) return [];
        const allocation = snapshot.allocationOf(address);
        const texts = [...new Set(seen.map(({ user }) => user.text))];
        const text = `has ${ids.size} users: ${texts.join("; ")}. Delete those Pods that the allocation does not name`;
        return [finding("duplicate", "users", { address, pool: allocation?.pool }, [...ids].sort().join(" "), text)];
    });
}

function usersOf(snapshot: Snapshot): readonly { readonly address: string; readonly user: User }[] {
    const ofAllocations = snapshot.allocations.flatMap(({ address, pod }) => {
        if (pod === undefined) return [];
        const text = `claimed for Pod ${pod.namespace}/${pod.name} on Node ${pod.nodeName}`;
        return [{ address, user: { id: podId(snapshot, pod, pod.interface), text } }];
    });
    const ofRecords = snapshot.records.flatMap((record) =>
        record.addresses.map(({ ip }) => {
            const address = formatIp(ip);
            const text = `port ${record.port} of Pod ${record.podNamespace}/${record.podName} on Node ${record.node}`;
            const holder = snapshot.allocationOf(address)?.pod;
            const ofHolder = holder !== undefined && snapshot.isOf(record, holder);
            const { podNamespace: namespace, podName: name } = record;
            const uid = record.podUid || `container ${record.containerId}`;
            const pod = ofHolder ? holder : { namespace, name, uid };
            return { address, user: { id: podId(snapshot, pod, record.ifName), text } };
        }),
    );
    const ofPods = snapshot.pods
        // The address of a Pod that is being deleted may already belong to another Pod.
        .filter((pod) => hasOwnAddress(pod) && !pod.deleting && pod.phase === "Running")
        .flatMap((pod) =>
            pod.ips.map((address) => {
                const text = `Pod ${pod.namespace}/${pod.name} on Node ${pod.nodeName ?? "?"} reports it`;
                return { address, user: { id: `${pod.uids[0] ?? ""} eth0`, text } };
            }),
        );
    return [...ofAllocations, ...ofRecords, ...ofPods];
}

/** One identifier for a Pod that is known by several UIDs. */
function podId(snapshot: Snapshot, pod: NamedPodUid, ifName: string): string {
    return `${snapshot.podOf(pod)?.uids[0] ?? pod.uid} ${ifName}`;
}
