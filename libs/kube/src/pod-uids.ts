import { type Pod } from "./api/types.ts";

/** On the mirror Pod of a static Pod: the hash of its manifest, which the kubelet, and thus CNI, uses as UID. */
export const configHashAnnotation = "kubernetes.io/config.hash";

/** On the mirror Pod of a static Pod, with the same hash; the kubelet runs no Pod of the API server that has it. */
export const configMirrorAnnotation = "kubernetes.io/config.mirror";

/**
 * The UID that CNI passes for the static Pod of this mirror Pod: the hash, if both annotations have it, as any user can
 * set `configHashAnnotation` alone; undefined for every other Pod.
 */
export function staticUidOf({ metadata }: Pod): string | undefined {
    const hash = metadata?.annotations?.[configHashAnnotation];
    // Any user can set the hash alone on a running Pod.
    return hash === metadata?.annotations?.[configMirrorAnnotation] ? hash : undefined;
}

/** The UIDs by which CNI and allocations may reference a Pod: its own ("" if missing) and, of a mirror Pod, the hash. */
export function podUids(pod: Pod): readonly string[] {
    const uid = pod.metadata?.uid ?? "";
    const hash = staticUidOf(pod);
    return hash === undefined ? [uid] : [uid, hash];
}

/**
 * Whether the object has this UID, or is a mirror Pod with this hash. Anyone who may create Pods can create a mirror Pod
 * that no kubelet runs, so the object must have been found by its name; `uid` must not be empty.
 */
export function hasPodUid(pod: Pod, uid: string): boolean {
    return podUids(pod).includes(uid);
}
