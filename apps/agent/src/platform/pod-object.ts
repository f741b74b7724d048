import { hasPodUid, pods, staticUidOf, type ApiClient, type Pod } from "@antrea/kube";

/**
 * Finds the Pod that CNI identifies by this UID: an object's UID takes precedence over the hash of a mirror Pod.
 * Undefined if no Pod has it, and for an empty UID.
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

/** Whether the object is the mirror Pod of a static Pod (`staticUidOf`). */
export function isStaticPod(pod: Pod): boolean {
    return staticUidOf(pod) !== undefined;
}

/**
 * What a user does to get a new sandbox for a Pod, as part of a sentence: `ordinary`, such as "delete it"; for a static
 * Pod it is done on the Node, since deleting its mirror Pod restarts nothing: the kubelet creates it again for the same
 * sandbox.
 */
export function newSandboxStep(isStatic: boolean, ordinary: string): string {
    return isStatic ? "move the manifest of this static Pod out of its directory and back" : ordinary;
}

/**
 * Reads the current UID of a Pod from the API server; "" if there is no Pod of that name. For a static Pod it is that
 * of the mirror Pod, not the hash of the manifest that CNI passes. Rejects with KubeError.
 */
export async function podUidOf(api: ApiClient, namespace: string, name: string): Promise<string> {
    const pod = await api.find(pods, { namespace, name });
    return pod?.metadata?.uid ?? "";
}
