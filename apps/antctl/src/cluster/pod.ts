import { podIpsAnnotation, poolsAnnotation } from "@antrea/crd";
import { type Pod } from "@antrea/kube";

/** What commands need of a Pod; a cluster may have 100,000. */
export interface PodInfo {
    readonly namespace: string;
    readonly name: string;
    /** Ways in which claims and records know it: its UID, and for a static Pod the hash of its manifest. */
    readonly uids: readonly string[];
    readonly nodeName: string | undefined;
    readonly phase: string;
    readonly deleting: boolean;
    readonly hostNetwork: boolean;
    readonly ips: readonly string[];
    /** The annotations of IPAM, where it has them. */
    readonly annotations: Readonly<Record<string, string>>;
    readonly ownerReferences: readonly OwnerReference[];
}

export interface OwnerReference {
    readonly apiVersion: string;
    readonly kind: string;
    readonly name: string;
    readonly uid: string;
    readonly controller?: boolean;
}

// The kubelet starts a static Pod under this name for its UID; the mirror Pod has another UID.
const staticPodHash = "kubernetes.io/config.hash";

export function readPod(pod: Pod): PodInfo {
    const { metadata, spec, status } = pod;
    const hash = metadata?.annotations?.[staticPodHash];
    return {
        namespace: metadata?.namespace ?? "",
        name: metadata?.name ?? "",
        uids: [metadata?.uid ?? "", ...(hash === undefined ? [] : [hash])],
        nodeName: spec?.nodeName,
        phase: status?.phase ?? "Unknown",
        deleting: metadata?.deletionTimestamp !== undefined,
        hostNetwork: spec?.hostNetwork === true,
        ips: (status?.podIPs ?? []).map(({ ip }) => ip).filter((ip) => ip !== undefined),
        annotations: ipamAnnotations(metadata?.annotations),
        ownerReferences: metadata?.ownerReferences ?? [],
    };
}

/** Those of all annotations that IPAM reads. */
export function ipamAnnotations(all: Readonly<Record<string, string>> | undefined): Readonly<Record<string, string>> {
    return Object.fromEntries(
        [poolsAnnotation, podIpsAnnotation].flatMap((key) => (all?.[key] === undefined ? [] : [[key, all[key]]])),
    );
}

/** Whether it ran to its end: its sandbox and its address are given back. */
export function isFinished(pod: PodInfo): boolean {
    return pod.phase === "Succeeded" || pod.phase === "Failed";
}

/** Whether its addresses are of its own, and still its. */
export function hasOwnAddress(pod: PodInfo): boolean {
    return !pod.hostNetwork && !isFinished(pod);
}
