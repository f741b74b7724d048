import { type AllocationOwner } from "@antrea/crd";
import { messageOf } from "@antrea/errors";
import { statefulSetOf } from "@antrea/ipam";
import { type Pod } from "@antrea/kube";
import { type Logger } from "@antrea/runtime";
import { type NodePods } from "./node-pods.ts";
import { askLimitMs, within } from "./requests.ts";
import { type PodIdentity } from "./types.ts";

export interface ClaimOwnersComponents {
    readonly pods: Pick<NodePods, "known" | "live">;
    readonly logger: Logger;
}

/** For whom a claim is made again. */
export interface ClaimOwner {
    /** With its name, as far as that can be found out. */
    readonly pod: PodIdentity;
    /** The ordinal of its StatefulSet; undefined: the Pod. */
    readonly owner: AllocationOwner | undefined;
}

/**
 * Finds out for whom a claim is made again: a Pod of a StatefulSet has its address for its ordinal. Nobody corrects a claim
 * that is made for the Pod alone: agents may not change owners. So the API server is asked for a Pod that the watch lacks.
 */
export class ClaimOwners {
    readonly #components: ClaimOwnersComponents;

    constructor(components: ClaimOwnersComponents) {
        this.#components = components;
    }

    /** Asks for 3 s at most. When nobody answers, it is the Pod: an address in use without a claim would be worse. */
    async find(pod: PodIdentity, signal: AbortSignal): Promise<ClaimOwner> {
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

function ownerOf(pod: PodIdentity, object: Pod | undefined): ClaimOwner {
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
