import { podIpsAnnotation, poolsAnnotation } from "@antrea/crd";
import { IpError, parseIp, type IpAddress } from "@antrea/ip";
import { podIdentity, type Pod, type PodIdentity } from "@antrea/kube";
import { networksAnnotation } from "@antrea/networks";

/** The fields of a Pod that commands need, without all others, as a cluster may have 100,000. */
export interface PodInfo extends PodIdentity {
    /** Undefined until it is scheduled. */
    readonly nodeName: string | undefined;
    /** As in its status; `Unknown` if not set. */
    readonly phase: string;
    readonly deleting: boolean;
    readonly hostNetwork: boolean;
    /** The addresses that its status reports, as text; those of its Node on the host network. */
    readonly ips: readonly string[];
    /** The IPAM annotations, if any. */
    readonly annotations: Readonly<Record<string, string>>;
    readonly ownerReferences: readonly OwnerReference[];
    /** How many of each resource its containers request by `resources.limits`; without those that are no whole number. */
    readonly limits: Readonly<Record<string, number>>;
}

/** An owner in a Pod's metadata (metav1.OwnerReference); `controller` is true for the one that manages the Pod. */
export interface OwnerReference {
    readonly apiVersion: string;
    readonly kind: string;
    readonly name: string;
    readonly uid: string;
    readonly controller?: boolean;
}

/** Reads the fields that commands need from a Pod; a missing name or UID is "". */
export function readPod(pod: Pod): PodInfo {
    const { metadata, spec, status } = pod;
    return {
        ...podIdentity(pod),
        nodeName: spec?.nodeName,
        phase: status?.phase ?? "Unknown",
        deleting: metadata?.deletionTimestamp !== undefined,
        hostNetwork: spec?.hostNetwork === true,
        ips: (status?.podIPs ?? []).map(({ ip }) => ip).filter((ip) => ip !== undefined),
        annotations: ipamAnnotations(metadata?.annotations),
        ownerReferences: metadata?.ownerReferences ?? [],
        limits: limitsOf([...(spec?.containers ?? []), ...(spec?.initContainers ?? [])]),
    };
}

/** Devices are whole numbers; an init container and others may have the same ones, which does not matter here. */
function limitsOf(
    containers: readonly { readonly resources?: { readonly limits?: Readonly<Record<string, string>> } }[],
): Readonly<Record<string, number>> {
    const sums = new Map<string, number>();
    for (const [name, text] of containers.flatMap(({ resources }) => Object.entries(resources?.limits ?? {})))
        if (/^\d+$/.test(text)) sums.set(name, (sums.get(name) ?? 0) + Number(text));
    return Object.fromEntries(sums);
}

/**
 * Selects the annotations that IPAM reads: `ipam.antrea.io/ippools`, `ipam.antrea.io/pod-ips` and that of networks; {} if
 * there are none.
 */
export function ipamAnnotations(all: Readonly<Record<string, string>> | undefined): Readonly<Record<string, string>> {
    return Object.fromEntries(
        [poolsAnnotation, podIpsAnnotation, networksAnnotation].flatMap((key) =>
            all?.[key] === undefined ? [] : [[key, all[key]]],
        ),
    );
}

/** Whether it has terminated (phase Succeeded or Failed): it needs no address, but may still have an allocation. */
export function isFinished(pod: PodInfo): boolean {
    return pod.phase === "Succeeded" || pod.phase === "Failed";
}

/** Whether it has addresses of its own (no host network) and still uses them. */
export function hasOwnAddress(pod: PodInfo): boolean {
    return !pod.hostNetwork && !isFinished(pod);
}

/** An address of `ips`; undefined if it is unreadable, such as one with leading zeros that an old cluster took. */
export function readAddress(text: string): IpAddress | undefined {
    try {
        return parseIp(text);
    } catch (error) {
        if (error instanceof IpError) return undefined;
        throw error;
    }
}
