import { type AllocationOwner } from "@antrea/crd";
import { messageOf } from "@antrea/errors";
import { statefulSetOf } from "@antrea/ipam";
import { type Pod, type NamedPodUid } from "@antrea/kube";
import { type Logger } from "@antrea/runtime";
import { type NodePods } from "./node-pods.ts";
import { askLimitMs, within } from "./requests.ts";

/** Dependencies of AllocationOwners. */
export interface AllocationOwnersComponents {
    readonly pods: Pick<NodePods, "known" | "live">;
    readonly logger: Logger;
}

/** For whom an allocation is recreated: result of `AllocationOwners.find`. */
export interface ResolvedOwner {
    /** The Pod; name and namespace stay as passed to `find`, "" if unknown, when it cannot be resolved. */
    readonly pod: NamedPodUid;
    /**
     * The StatefulSet ordinal that owns the allocation; undefined if the Pod does, also if the Pod is gone or could not
     * be read.
     */
    readonly owner: AllocationOwner | undefined;
}

/**
 * Determines the owner of an allocation that is recreated: the address of a StatefulSet Pod belongs to its ordinal.
 * Agents may not change the owner afterwards, so a wrong owner is never corrected; a Pod that the watch lacks is
 * therefore read from the API server.
 */
export class AllocationOwners {
    readonly #components: AllocationOwnersComponents;

    constructor(components: AllocationOwnersComponents) {
        this.#components = components;
    }

    /**
     * Resolves the owner within 3 s, from the watch or the API server. Never rejects: if the API server does not answer
     * or the signal aborts, that is logged and the owner is the Pod, since an address in use without an allocation
     * would be worse.
     */
    async find(pod: NamedPodUid, signal: AbortSignal): Promise<ResolvedOwner> {
        const { pods, logger } = this.#components;
        const known = pods.known(pod);
        if (known !== undefined) return ownerOf(pod, known);
        try {
            return ownerOf(pod, await pods.live(pod, within(signal, askLimitMs)));
        } catch (error) {
            logger.warn("owner of a recreated allocation cannot be read; it is recreated for the Pod only", {
                ...(pod.name === "" ? { podUid: pod.uid } : { pod: `${pod.namespace}/${pod.name}` }),
                reason: messageOf(error),
            });
            return { pod, owner: undefined };
        }
    }
}

function ownerOf(pod: NamedPodUid, object: Pod | undefined): ResolvedOwner {
    const { namespace = pod.namespace, name = pod.name, ownerReferences = [] } = object?.metadata ?? {};
    const set = statefulSetOf({ name, ownerReferences });
    const owner: AllocationOwner | undefined = set && {
        kind: "StatefulSet",
        namespace,
        name: set.name,
        uid: set.uid,
        index: set.ordinal,
    };
    return { pod: { namespace, name, uid: pod.uid }, owner };
}
