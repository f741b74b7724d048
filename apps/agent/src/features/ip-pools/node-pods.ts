import { type Clock } from "@antrea/async";
import { podIpsAnnotation, poolsAnnotation } from "@antrea/crd";
import { isEnded } from "@antrea/ipam";
import {
    configHashAnnotation,
    configMirrorAnnotation,
    hasPodUid,
    Informer,
    pods,
    type ApiClient,
    type KubeLogger,
    type Pod,
    type NamedPodUid,
} from "@antrea/kube";
import { networksAnnotation } from "@antrea/networks";
import { podOfUid, type NamedPod } from "../../platform/pod-object.ts";

/** Dependencies of NodePods. */
export interface NodePodsComponents {
    readonly api: Pick<ApiClient, "list" | "watch" | "find">;
    readonly logger: KubeLogger;
    readonly clock: Clock;
}

const keptAnnotations = [
    poolsAnnotation,
    podIpsAnnotation,
    networksAnnotation,
    configHashAnnotation,
    configMirrorAnnotation,
];
const requestLimitMs = 10_000;

/**
 * The Pods of this Node, reduced to the fields that pool allocation reads: identity, owners, the annotations of IPPools,
 * of networks and of static Pods, `spec.hostNetwork` and `status.phase`. UIDs are those that CNI passes, see NamedPodUid. The owner
 * starts and closes `informer`; without it only `live` and `isOver` find Pods.
 */
export class NodePods {
    /** The watch of the Pods; its owner starts and closes it. */
    readonly informer: Informer<Pod>;
    readonly #api: NodePodsComponents["api"];
    readonly #nodeName: string;
    /** When the watch first delivered a Pod, by the UID of its object. */
    readonly #knownSince = new Map<string, number>();

    constructor(components: NodePodsComponents, options: { readonly nodeName: string }) {
        this.#api = components.api;
        this.#nodeName = options.nodeName;
        this.informer = new Informer(components, {
            resource: pods,
            fieldSelector: `spec.nodeName=${options.nodeName}`,
            transform: slimPod,
        });
        this.informer.onChange((type, _key, { metadata }) => {
            const uid = metadata?.uid ?? "";
            if (type === "deleted") this.#knownSince.delete(uid);
            else if (!this.#knownSince.has(uid)) this.#knownSince.set(uid, components.clock.monotonic());
        });
    }

    /** Resolves when the initial list is complete; rejects if the signal aborts first. */
    synced(signal: AbortSignal): Promise<void> {
        return this.informer.hasSynced ? Promise.resolve() : this.informer.synced(signal);
    }

    /**
     * The Pod with this UID, as last delivered by the watch; without a name it is searched by UID alone. Undefined is
     * inconclusive: the watch may lag behind, or the UID is "".
     */
    known(pod: NamedPodUid): Pod | undefined {
        if (pod.name === "") return podOfUid(this.informer.list(), pod.uid);
        const found = this.informer.get(`${pod.namespace}/${pod.name}`);
        return found !== undefined && isPod(found, pod) ? found : undefined;
    }

    /** A monotonic time (ms) at which the Pod already existed; undefined if the watch lacks it. */
    knownSince(pod: NamedPodUid): number | undefined {
        return this.#knownSince.get(this.known(pod)?.metadata?.uid ?? "");
    }

    /**
     * Reads the Pod with this UID from the API server. Undefined if there is none, or the name belongs to another Pod.
     * An empty UID matches any; a Pod without a name is searched among the Pods of this Node. Rejects with the
     * KubeError of the request, which is not retried (limit 10 s).
     */
    async live(pod: NamedPodUid, signal: AbortSignal): Promise<Pod | undefined> {
        const { namespace, name } = pod;
        if (name === "") return this.#liveByUid(pod.uid, signal);
        const found = await this.#api.find(pods, { namespace, name }, { signal, timeoutMs: requestLimitMs });
        return found !== undefined && (pod.uid === "" || isPod(found, pod)) ? slimPod(found) : undefined;
    }

    /**
     * Whether the Pod is known to be neither deleted nor terminated. False is inconclusive: the watch may lag behind.
     */
    isKnownAlive(pod: NamedPodUid): boolean {
        const known = this.known(pod);
        return known !== undefined && !isEnded(known);
    }

    /** Whether the Pod is deleted or terminated, according to the API server; rejects as `live`. */
    async isOver(pod: NamedPodUid, signal: AbortSignal): Promise<boolean> {
        const live = await this.live(pod, signal);
        return live === undefined || isEnded(live);
    }

    /** The interfaces, in order, with missing Pod names filled in by UID as far as the watch has the Pod. */
    withNames<T extends NamedPod>(wired: readonly T[]): readonly T[] {
        return wired.map((one) => {
            if (one.podName !== "" || one.podUid === "") return one;
            const pod = this.known({ namespace: "", name: "", uid: one.podUid });
            const { namespace = "", name = "" } = pod?.metadata ?? {};
            return pod === undefined ? one : { ...one, podNamespace: namespace, podName: name };
        });
    }

    /**
     * The UID of the Pod's object if the watch has it, else the given one; for a static Pod it differs from the UID
     * that CNI passes.
     */
    objectUid(pod: NamedPodUid): string {
        return this.known(pod)?.metadata?.uid ?? pod.uid;
    }

    async #liveByUid(uid: string, signal: AbortSignal): Promise<Pod | undefined> {
        if (uid === "") return undefined;
        const fieldSelector = `spec.nodeName=${this.#nodeName}`;
        const { items } = await this.#api.list(pods, { fieldSelector, signal, timeoutMs: requestLimitMs });
        const found = podOfUid(items, uid);
        return found && slimPod(found);
    }
}

function isPod(pod: Pod, { uid }: NamedPodUid): boolean {
    return uid !== "" && hasPodUid(pod, uid);
}

function slimPod({ metadata, spec, status }: Pod): Pod {
    const { namespace = "", name = "", uid = "", resourceVersion = "", ownerReferences } = metadata ?? {};
    const annotations = keptAnnotations.flatMap((key) => {
        const value = metadata?.annotations?.[key];
        return value === undefined ? [] : [[key, value] as const];
    });
    return {
        metadata: {
            namespace,
            name,
            uid,
            resourceVersion,
            ...(annotations.length > 0 && { annotations: Object.fromEntries(annotations) }),
            ...(ownerReferences && { ownerReferences }),
        },
        spec: { containers: [], ...(spec?.hostNetwork && { hostNetwork: true }) },
        status: { ...(status?.phase && { phase: status.phase }) },
    };
}
