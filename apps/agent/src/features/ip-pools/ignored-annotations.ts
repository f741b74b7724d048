import { podIpsAnnotation, poolsAnnotation } from "@antrea/crd";
import { namespaces, pods, referenceTo, type ApiClient, type EventRecorder, type Pod } from "@antrea/kube";
import type { Logger } from "@antrea/runtime";
import { isPodOf } from "../../platform/pod-object.ts";
import { attachmentKey, type PodAttachment } from "../../platform/pod-interfaces/index.ts";

/** An interface that is wired with addresses of the Node's subnets. */
export interface SubnetInterface extends PodAttachment {
    /** Found at the start of the agent, which cannot know what its Namespace said when it was wired. */
    readonly isRebuilt: boolean;
}

export interface IgnoredAnnotationsComponents {
    readonly api: Pick<ApiClient, "list" | "find">;
    readonly events: Pick<EventRecorder, "record">;
    /** Those whose ADD is answered. */
    readonly interfaces: () => readonly SubnetInterface[];
    readonly logger: Logger;
}

/** More Pods than these are read by one list. */
const fewPods = 8;
/** The mirror of a static Pod may come after it. */
const maxMisses = 30;

/**
 * While IPPools are switched off, annotations that name them have no effect, and a Pod that should have been in a pool
 * starts in the Node's subnet. Says so on each such Pod, and once in the log.
 */
export class IgnoredAnnotations {
    readonly #components: IgnoredAnnotationsComponents;
    readonly #nodeName: string;
    /** Keys of interfaces that need no look any more. */
    readonly #seen = new Set<string>();
    /** How often the Pod of an interface was not there. */
    readonly #misses = new Map<string, number>();
    #isLogged = false;

    constructor(components: IgnoredAnnotationsComponents, options: { readonly nodeName: string }) {
        this.#components = components;
        this.#nodeName = options.nodeName;
    }

    /** Reads the Pods of interfaces that are new; asks for nothing while there are none. */
    async look(signal: AbortSignal): Promise<void> {
        const present = this.#components.interfaces();
        const keys = new Set(present.map(attachmentKey));
        for (const key of this.#seen) if (!keys.has(key)) this.#seen.delete(key);
        for (const key of this.#misses.keys()) if (!keys.has(key)) this.#misses.delete(key);
        const pending = present.filter((one) => one.podName !== "" && !this.#seen.has(attachmentKey(one)));
        if (pending.length === 0) return;
        const found = await this.#read(pending, signal);
        const annotated = new Map<string, boolean>();
        for (const one of pending) {
            const pod = found.find((candidate) => isPodOf(candidate, one));
            if (pod === undefined) this.#missed(one);
            else if (await this.#isIgnored(one, pod, annotated, signal)) this.#report(pod);
            // A look that failed is made again.
            if (pod !== undefined) this.#seen.add(attachmentKey(one));
        }
    }

    async #read(pending: readonly SubnetInterface[], signal: AbortSignal): Promise<readonly Pod[]> {
        const { api } = this.#components;
        if (pending.length > fewPods) {
            return (await api.list(pods, { fieldSelector: `spec.nodeName=${this.#nodeName}`, signal })).items;
        }
        const found = await Promise.all(
            pending.map(({ podNamespace, podName }) =>
                api.find(pods, { namespace: podNamespace, name: podName }, { signal }),
            ),
        );
        return found.filter((pod) => pod !== undefined);
    }

    #missed(one: SubnetInterface): void {
        const key = attachmentKey(one);
        const misses = (this.#misses.get(key) ?? 0) + 1;
        this.#misses.set(key, misses);
        if (misses >= maxMisses) this.#seen.add(key);
    }

    async #isIgnored(
        { isRebuilt }: SubnetInterface,
        pod: Pod,
        annotated: Map<string, boolean>,
        signal: AbortSignal,
    ): Promise<boolean> {
        if (isAnnotated(pod)) return true;
        if (isRebuilt) return false;
        const name = pod.metadata?.namespace ?? "";
        const known = annotated.get(name);
        if (known !== undefined) return known;
        const namespace = await this.#components.api.find(namespaces, { name }, { signal });
        const isIgnored = namespace !== undefined && isAnnotated(namespace);
        annotated.set(name, isIgnored);
        return isIgnored;
    }

    #report(pod: Pod): void {
        const { events, logger } = this.#components;
        const note =
            `the annotations ${poolsAnnotation} and ${podIpsAnnotation} have no effect: the feature gate AntreaIPAM is off, ` +
            `so this Pod has addresses of its Node's subnet; install with featureGates.AntreaIPAM=true and create the Pod again`;
        if (!this.#isLogged) {
            const name = `${pod.metadata?.namespace}/${pod.metadata?.name}`;
            logger.warn("annotations of IPPools are ignored", { pod: name, reason: note });
        }
        this.#isLogged = true;
        const regarding = referenceTo(pods, pod);
        events.record({ regarding, type: "Warning", reason: "IPPoolsIgnored", action: "AllocateAddress", note });
    }
}

function isAnnotated(object: Pick<Pod, "metadata">): boolean {
    const annotations = object.metadata?.annotations ?? {};
    return poolsAnnotation in annotations || podIpsAnnotation in annotations;
}
