import { podIpsAnnotation, poolsAnnotation } from "@antrea/crd";
import { namespaces, pods, referenceTo, type ApiClient, type EventRecorder, type Pod } from "@antrea/kube";
import type { Logger } from "@antrea/runtime";

export interface IgnoredAnnotationsComponents {
    readonly api: Pick<ApiClient, "list" | "find">;
    readonly events: Pick<EventRecorder, "record">;
    /** When the last Pod was added, by any clock that grows. */
    readonly lastAdd: () => number;
    readonly logger: Logger;
}

/**
 * While IPPools are switched off, annotations that name them have no effect, and a Pod that should have been in a pool
 * starts in the Node's subnet. Says so once, in the log and on the first such Pod.
 */
export class IgnoredAnnotations {
    readonly #components: IgnoredAnnotationsComponents;
    readonly #nodeName: string;
    #seen = -1;
    #told = false;

    constructor(components: IgnoredAnnotationsComponents, options: { readonly nodeName: string }) {
        this.#components = components;
        this.#nodeName = options.nodeName;
    }

    /** Reads the Pods of this Node, if there is anything new to see. */
    async look(signal: AbortSignal): Promise<void> {
        const lastAdd = this.#components.lastAdd();
        if (this.#told || lastAdd <= this.#seen) return;
        const { api, events, logger } = this.#components;
        const { items } = await api.list(pods, { fieldSelector: `spec.nodeName=${this.#nodeName}`, signal });
        const candidates = items.filter((pod) => pod.spec?.hostNetwork !== true);
        const pod = candidates.find(isAnnotated) ?? (await this.#inAnnotatedNamespace(candidates, signal));
        // A look that failed is made again.
        this.#seen = lastAdd;
        if (pod === undefined) return;
        this.#told = true;
        const name = `${pod.metadata?.namespace}/${pod.metadata?.name}`;
        const note =
            `the annotations ${poolsAnnotation} and ${podIpsAnnotation} have no effect: the feature gate AntreaIPAM is off, ` +
            `so Pods get addresses of their Node's subnet; install with featureGates.AntreaIPAM=true and create the Pod again`;
        logger.warn("annotations of IPPools are ignored", { pod: name, reason: note });
        const regarding = referenceTo(pods, pod);
        events.record({ regarding, type: "Warning", reason: "IPPoolsIgnored", action: "AllocateAddress", note });
    }

    async #inAnnotatedNamespace(candidates: readonly Pod[], signal: AbortSignal): Promise<Pod | undefined> {
        for (const name of new Set(candidates.map((pod) => pod.metadata?.namespace ?? ""))) {
            const namespace = await this.#components.api.find(namespaces, { name }, { signal });
            if (namespace !== undefined && isAnnotated(namespace)) {
                return candidates.find((pod) => pod.metadata?.namespace === name);
            }
        }
        return undefined;
    }
}

function isAnnotated(object: Pick<Pod, "metadata">): boolean {
    const annotations = object.metadata?.annotations ?? {};
    return poolsAnnotation in annotations || podIpsAnnotation in annotations;
}
