import { type Clock } from "@antrea/async";
import { podIpsAnnotation, poolsAnnotation } from "@antrea/crd";
import { checkPod, poolsOf, readPodIps, refusalsText, statefulSetOf, type Annotations, type Pool } from "@antrea/ipam";
import { isKubeError, type Pod, type NamedPodUid } from "@antrea/kube";
import { apiAway, IpPoolError } from "./errors.ts";
import { type NamespacePools } from "./namespace-pools.ts";
import { type NodePods } from "./node-pods.ts";
import { type PoolCache } from "./pool-cache.ts";
import { isRetryable } from "./requests.ts";
import { isStaticUid, type PoolsWanted, type SetPlace } from "./types.ts";

/** Dependencies of PodPools. */
export interface PodPoolsComponents {
    readonly pods: NodePods;
    readonly namespaces: NamespacePools;
    readonly cache: PoolCache;
    readonly clock: Clock;
}

/** More than the number of Pods of a Node. */
const maxEntries = 1_024;

/**
 * Determines the IPPools and fixed addresses that a Pod requests: by its own annotations, else by those of its
 * Namespace.
 */
export class PodPools {
    readonly #components: PodPoolsComponents;
    /**
     * UIDs of Pods known to request no pool, newest last. The result never changes for a Pod, so that its next sandbox
     * need not wait for the API server. For other Pods nothing can be assumed while it is unavailable.
     */
    readonly #without = new Set<string>();

    constructor(components: PodPoolsComponents) {
        this.#components = components;
    }

    /**
     * The Pod's request; undefined if it requests no pool and gets addresses of its Node's podCIDRs. If the API server
     * does not answer, a Pod that was resolved to undefined before is so again. Rejects with IpPoolError
     * BAD_ANNOTATION, POD_GONE, POD_UNKNOWN or API_AWAY, with another KubeError if a request is refused, or with the
     * signal's reason on abort.
     */
    async resolve(pod: NamedPodUid, signal: AbortSignal): Promise<PoolsWanted | undefined> {
        try {
            const wanted = await this.#resolve(pod, signal);
            if (wanted === undefined) this.#rememberWithout(pod.uid);
            return wanted;
        } catch (error) {
            if (error instanceof IpPoolError) throw error;
            signal.throwIfAborted();
            if (isRetryable(error) && this.#without.has(pod.uid)) return undefined;
            if (!isRetryable(error) && !isKubeError(error, "ABORTED")) throw error;
            throw apiAway(`finding the IPPools of Pod ${pod.namespace}/${pod.name}`, error);
        }
    }

    /**
     * The place of the Pod in its StatefulSet; undefined for other Pods. Rejects with IpPoolError POD_GONE, POD_UNKNOWN
     * or API_AWAY, with another KubeError if the request is refused, or with the signal's reason on abort.
     */
    async placeOf(pod: NamedPodUid, signal: AbortSignal): Promise<SetPlace | undefined> {
        const { pods } = this.#components;
        try {
            const object = pods.known(pod) ?? (await pods.live(pod, signal));
            if (object === undefined) throw noSuchPod(pod);
            return placeIn(object, pod);
        } catch (error) {
            if (error instanceof IpPoolError) throw error;
            signal.throwIfAborted();
            if (!isRetryable(error) && !isKubeError(error, "ABORTED")) throw error;
            throw apiAway(`reading Pod ${pod.namespace}/${pod.name}`, error);
        }
    }

    async #resolve(pod: NamedPodUid, signal: AbortSignal): Promise<PoolsWanted | undefined> {
        const { pods, namespaces, clock } = this.#components;
        const asked = clock.monotonic();
        const object = pods.known(pod) ?? (await pods.live(pod, signal));
        if (object === undefined) throw noSuchPod(pod);
        if (object.spec?.hostNetwork === true) return undefined;
        const own = object.metadata?.annotations;
        const knownAt = pods.knownSince(pod) ?? asked;
        const inherited =
            own?.[poolsAnnotation] === undefined
                ? await namespaces.annotations(pod.namespace, knownAt, signal)
                : undefined;
        const named = poolsOf(own, inherited);
        const { ips, problems } = readPodIps(own?.[podIpsAnnotation] ?? "");
        // Checked first: the pools of an overlong list must not be requested.
        if (named !== undefined && named.problems.length > 0) {
            const where = named.from === "Pod" ? `Pod ${pod.namespace}/${pod.name}` : `Namespace ${pod.namespace}`;
            throw new IpPoolError(
                "BAD_ANNOTATION",
                `annotation ${poolsAnnotation} of ${where}: ${named.problems.join("; ")}`,
            );
        }
        if (ips.length > 0 || problems.length > 0) await this.#checkFixed(object, inherited, signal);
        if (named === undefined) return undefined;
        return { pools: named.names, from: named.from, fixed: ips, statefulSet: placeIn(object, pod) };
    }

    #rememberWithout(uid: string): void {
        if (uid === "") return;
        this.#without.delete(uid);
        this.#without.add(uid);
        if (this.#without.size > maxEntries) this.#without.delete(this.#without.values().next().value ?? "");
    }

    /** Applies the admission rules to a Pod that bypassed the webhook. */
    async #checkFixed(object: Pod, namespace: Annotations, signal: AbortSignal): Promise<void> {
        const { cache } = this.#components;
        const annotations = object.metadata?.annotations;
        const names = poolsOf(annotations, namespace)?.names ?? [];
        const pools = new Map<string, Pool>();
        for (const name of names) {
            const known = await cache.find(name, signal);
            if (known !== undefined) pools.set(name, known.pool);
        }
        const request = { old: undefined, object: { metadata: { annotations } }, namespace };
        const { errors } = checkPod(request, { pool: (name) => pools.get(name), exclusions: cache });
        if (errors.length > 0) throw new IpPoolError("BAD_ANNOTATION", refusalsText(errors));
    }
}

function placeIn({ metadata }: Pod, pod: NamedPodUid): SetPlace | undefined {
    const { name = pod.name, ownerReferences = [] } = metadata ?? {};
    const set = statefulSetOf({ name, ownerReferences });
    return set && { name: set.name, ordinal: set.ordinal, uid: set.uid };
}

/**
 * The kubelet identifies a static Pod by the hash of its manifest and creates the mirror Pod when it can reach the API
 * server.
 */
function noSuchPod({ namespace, name, uid }: NamedPodUid): IpPoolError {
    if (isStaticUid(uid)) {
        return new IpPoolError(
            "POD_UNKNOWN",
            `static Pod ${namespace}/${name} (${uid}) is not known to the API server yet, so its IPPools cannot be determined; it is wired when kubelet has created its mirror Pod`,
        );
    }
    const which = uid === "" ? "" : ` with UID ${uid}`;
    return new IpPoolError("POD_GONE", `Pod ${namespace}/${name}${which} no longer exists`);
}
