import { type Pod } from "./api/types.ts";
import { podUids } from "./pod-uids.ts";

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
