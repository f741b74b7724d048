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

/** A Pod as CNI, an allocation or an interface names it. */
export interface NamedPodUid {
    readonly namespace: string;
    /** Empty, like the Namespace, if only the UID is known: the interface was rebuilt from incomplete data. */
    readonly name: string;
    /** Of its object, or for a static Pod the hash of its manifest, not the UID of its mirror Pod; "" if unknown. */
    readonly uid: string;
}

/** A Pod by all that names it: Namespace, name, and its UIDs (`podUids`). */
export interface PodIdentity {
    readonly namespace: string;
    readonly name: string;
    /** Its own first. */
    readonly uids: readonly string[];
}

/** What names a Pod; fields that its metadata lacks are "". */
export function podIdentity(pod: Pod): PodIdentity {
    const { namespace = "", name = "" } = pod.metadata ?? {};
    return { namespace, name, uids: podUids(pod) };
}

/**
 * Indexes the Pods of a list, such as that of a Node, each with its Namespace, name and UIDs. The result finds the Pod that
 * an allocation or an interface names: that of its Namespace and name, if it has the UID. Anyone who may create Pods can
 * create a mirror Pod with the UID of another Pod, so the UID alone decides only where the name is unknown; a Pod's own
 * UID then takes precedence over the same hash of a mirror Pod.
 */
export function podLookup<T extends PodIdentity>(all: readonly T[]): (pod: NamedPodUid) => T | undefined {
    const byName = new Map(all.map((pod) => [`${pod.namespace}/${pod.name}`, pod]));
    const byUid = new Map(all.flatMap((pod) => pod.uids.map((uid) => [uid, pod] as const)));
    for (const pod of all) byUid.set(pod.uids[0] ?? "", pod);
    return ({ namespace, name, uid }) => {
        if (uid === "") return undefined;
        if (name === "") return byUid.get(uid);
        const found = byName.get(`${namespace}/${name}`);
        return found?.uids.includes(uid) === true ? found : undefined;
    };
}
