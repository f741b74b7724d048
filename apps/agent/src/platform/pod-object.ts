import { pods, type ApiClient, type Pod } from "@antrea/kube";

/** On the mirror of a static Pod: the hash of its file, which kubelet, and so CNI, has for a UID. */
export const configHashAnnotation = "kubernetes.io/config.hash";

/** On the mirror of a static Pod, with the same hash; kubelet runs no Pod of the API server that has it. */
export const configMirrorAnnotation = "kubernetes.io/config.mirror";

/** The UID by which CNI knows the static Pod that this is the mirror of; undefined for every other Pod. */
export function staticUidOf({ metadata }: Pod): string | undefined {
    const hash = metadata?.annotations?.[configHashAnnotation];
    // The hash alone anybody may write on a Pod that runs.
    return hash === metadata?.annotations?.[configMirrorAnnotation] ? hash : undefined;
}

/** Whether the object is that of the Pod which kubelet and CNI know by this UID. */
export function hasPodUid({ metadata }: Pod, uid: string): boolean {
    return metadata?.uid === uid || metadata?.annotations?.[configHashAnnotation] === uid;
}

/** The Pod that CNI knows by this UID: by that of its object before any hash of a mirror. Undefined for an empty UID. */
export function podOfUid(all: readonly Pod[], uid: string): Pod | undefined {
    if (uid === "") return undefined;
    return all.find(({ metadata }) => metadata?.uid === uid) ?? all.find((pod) => staticUidOf(pod) === uid);
}

/** A Pod as CNI names it, or the record of an interface. */
export interface NamedPod {
    readonly podNamespace: string;
    /** Empty, as the Namespace, while only the UID is known: the interface was rebuilt from its link alone. */
    readonly podName: string;
    /** Of a static Pod the hash of its file; empty when it is not known. */
    readonly podUid: string;
}

/** Whether the object is that of the Pod; without a UID one of the name will do. */
export function isPodOf(pod: Pod, { podNamespace, podName, podUid }: NamedPod): boolean {
    const { namespace, name } = pod.metadata ?? {};
    return namespace === podNamespace && name === podName && (podUid === "" || hasPodUid(pod, podUid));
}

/** The live UID of a Pod; "" when there is none of that name. */
export async function podUidOf(api: ApiClient, namespace: string, name: string): Promise<string> {
    const pod = await api.find(pods, { namespace, name });
    return pod?.metadata?.uid ?? "";
}
