import { pods, type ApiClient, type Pod } from "@antrea/kube";

/** On the mirror Pod of a static Pod: the hash of its manifest, which the kubelet, and thus CNI, uses as UID. */
export const configHashAnnotation = "kubernetes.io/config.hash";

/** On the mirror Pod of a static Pod, with the same hash; the kubelet runs no Pod of the API server that has it. */
export const configMirrorAnnotation = "kubernetes.io/config.mirror";

/** The UID that CNI passes for the static Pod of this mirror Pod; undefined for every other Pod. */
export function staticUidOf({ metadata }: Pod): string | undefined {
    const hash = metadata?.annotations?.[configHashAnnotation];
    // The hash alone can be set by any user on a running Pod.
    return hash === metadata?.annotations?.[configMirrorAnnotation] ? hash : undefined;
}

/**
 * Whether the object has this UID, or has it as its config hash, as a mirror Pod does. Users can set the hash too, so
 * the object must have been found by its name; `uid` must not be empty.
 */
export function hasPodUid({ metadata }: Pod, uid: string): boolean {
    return metadata?.uid === uid || metadata?.annotations?.[configHashAnnotation] === uid;
}

/**
 * Finds the Pod that CNI identifies by this UID: an object's UID takes precedence over the hash of a mirror Pod.
 * Undefined for an empty UID.
 */
export function podOfUid(all: readonly Pod[], uid: string): Pod | undefined {
    if (uid === "") return undefined;
    return all.find(({ metadata }) => metadata?.uid === uid) ?? all.find((pod) => staticUidOf(pod) === uid);
}

/** A Pod as named by CNI, or by the record of an interface. */
export interface NamedPod {
    readonly podNamespace: string;
    /** Empty, like the Namespace, while only the UID is known: the interface was rebuilt from its link alone. */
    readonly podName: string;
    /** For a static Pod the hash of its manifest; empty if unknown. */
    readonly podUid: string;
}

/**
 * Whether the object is that of the Pod: Namespace and name are equal and, unless `podUid` is empty, the UID too
 * (`hasPodUid`).
 */
export function isPodOf(pod: Pod, { podNamespace, podName, podUid }: NamedPod): boolean {
    const { namespace, name } = pod.metadata ?? {};
    return namespace === podNamespace && name === podName && (podUid === "" || hasPodUid(pod, podUid));
}

/**
 * Reads the current UID of a Pod from the API server; "" if there is none of that name. For a static Pod it is that of
 * the mirror Pod, not the hash. Rejects with KubeError.
 */
export async function podUidOf(api: ApiClient, namespace: string, name: string): Promise<string> {
    const pod = await api.find(pods, { namespace, name });
    return pod?.metadata?.uid ?? "";
}
