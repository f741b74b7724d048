import { type Clock, orAborted } from "@antrea/async";
import { type Annotations } from "@antrea/ipam";
import { namespaces, type ApiClient } from "@antrea/kube";
import { IpPoolError } from "./errors.ts";
import { askLimitMs } from "./requests.ts";

export interface NamespacePoolsComponents {
    readonly api: Pick<ApiClient, "find">;
    readonly clock: Clock;
}

/** So that many Pods that start at once ask once. */
const reuseMs = 1_000;

interface Asked {
    readonly at: number;
    readonly annotations: Promise<Annotations>;
}

/**
 * The annotations of Namespaces, read live. No watch could answer: a late one knows the annotations of an earlier
 * Namespace of the same name, or of the time before the annotation came, and the Pod would be wired into a network that
 * is not its own.
 */
export class NamespacePools {
    readonly #components: NamespacePoolsComponents;
    // The oldest first.
    readonly #asked = new Map<string, Asked>();

    constructor(components: NamespacePoolsComponents) {
        this.#components = components;
    }

    /**
     * The Namespace's annotations as they are for a Pod whose creation was known at that monotonic time: what an earlier
     * request got may be older than the Pod. Rejects with POD_GONE without the Namespace, else with the KubeError of the
     * request: a failure never means that there is no annotation.
     */
    async annotations(namespace: string, podKnownAt: number, signal: AbortSignal): Promise<Annotations> {
        return orAborted(this.#ask(namespace, podKnownAt), signal);
    }

    #ask(namespace: string, podKnownAt: number): Promise<Annotations> {
        const now = this.#components.clock.monotonic();
        for (const [name, { at }] of this.#asked) {
            if (now - at < reuseMs) break;
            this.#asked.delete(name);
        }
        const asked = this.#asked.get(namespace);
        if (asked !== undefined && asked.at > podKnownAt) return asked.annotations;
        const annotations = this.#live(namespace);
        this.#asked.delete(namespace);
        this.#asked.set(namespace, { at: now, annotations });
        // A failure is for those who wait for it, not for those who come later.
        annotations.catch(() => {
            if (this.#asked.get(namespace)?.annotations === annotations) this.#asked.delete(namespace);
        });
        return annotations;
    }

    async #live(namespace: string): Promise<Annotations> {
        const found = await this.#components.api.find(namespaces, { name: namespace }, { timeoutMs: askLimitMs });
        if (found !== undefined) return found.metadata?.annotations ?? {};
        throw new IpPoolError("POD_GONE", `Namespace ${namespace} does not exist any more`);
    }
}
