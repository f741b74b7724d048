import { podIpsAnnotation, poolsAnnotation } from "@antrea/crd";
import { namespaces, pods, referenceTo, type ApiClient, type EventRecorder, type Pod } from "@antrea/kube";
import type { Logger } from "@antrea/runtime";
import { isPodOf, isStaticPod, newSandboxStep } from "../../platform/pod-object.ts";
import { attachmentKey, type PodAttachment } from "../../platform/pod-interfaces/index.ts";

/** An interface wired with addresses of the Node's podCIDRs, whose ADD has completed. */
export interface SubnetInterface extends PodAttachment {
    /** Rebuilt when the agent started, which does not know the Namespace's annotations at the time of wiring. */
    readonly isRebuilt: boolean;
}

/** Dependencies of IgnoredAnnotations. */
export interface IgnoredAnnotationsComponents {
    readonly api: Pick<ApiClient, "list" | "find">;
    readonly events: Pick<EventRecorder, "record">;
    /** Interfaces whose ADD has completed. */
    readonly interfaces: () => readonly SubnetInterface[];
    readonly logger: Logger;
}

/** Up to this many Pods are read one by one; more are read by one list. */
const fewPods = 8;
/** The mirror Pod of a static Pod may be created after it starts. */
const maxMisses = 30;

/**
 * With AntreaIPAM disabled, annotations that name IPPools have no effect, and such a Pod gets an address of the Node's
 * podCIDR. Reports that as an event (IPPoolsIgnored) on each such Pod, once per interface, and once in the log.
 */
export class IgnoredAnnotations {
    readonly #components: IgnoredAnnotationsComponents;
    readonly #nodeName: string;
    /** Keys of interfaces that are checked already. */
    readonly #seen = new Set<string>();
    /** How often the Pod of an interface was not found. */
    readonly #misses = new Map<string, number>();
    #isLogged = false;

    constructor(components: IgnoredAnnotationsComponents, options: { readonly nodeName: string }) {
        this.#components = components;
        this.#nodeName = options.nodeName;
    }

    /**
     * Reads the Pods of interfaces that are not checked yet, from the API server; makes no request if there are none.
     * Rejects with KubeError if that fails; the next call repeats it. A Pod that is not found is given up after 30
     * calls.
     */
    async check(signal: AbortSignal): Promise<void> {
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
            // A failed check is repeated.
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
        const again = newSandboxStep(isStaticPod(pod), "create the Pod again");
        const note =
            `the annotations ${poolsAnnotation} and ${podIpsAnnotation} have no effect: the feature gate AntreaIPAM is off, ` +
            `so this Pod has addresses of its Node's subnet; install with featureGates.AntreaIPAM=true and ${again}`;
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
