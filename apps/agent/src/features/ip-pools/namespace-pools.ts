import { type Clock, orAborted } from "@antrea/async";
import { type Annotations } from "@antrea/ipam";
import { namespaces, type ApiClient } from "@antrea/kube";
import { IpPoolError } from "./errors.ts";
import { askLimitMs } from "./requests.ts";

/** Dependencies of NamespacePools. */
export interface NamespacePoolsComponents {
    readonly api: Pick<ApiClient, "find">;
    readonly clock: Clock;
}

/** Many Pods that start at once share one request. */
const reuseMs = 1_000;

interface Asked {
    readonly at: number;
    readonly annotations: Promise<Annotations>;
}

/**
 * Annotations of Namespaces, read from the API server. A watch is not sufficient: a late one may still have the
 * annotations of an earlier Namespace of the same name, or from before the annotation was set, and the Pod would be
 * attached to the wrong network.
 */
export class NamespacePools {
    readonly #components: NamespacePoolsComponents;
    // Oldest first.
    readonly #asked = new Map<string, Asked>();

    constructor(components: NamespacePoolsComponents) {
        this.#components = components;
    }

    /**
     * The Namespace's annotations, empty if it has none, for a Pod known to exist at that monotonic time (ms); an
     * answer is reused for 1 s, unless it is older than the Pod. Rejects with IpPoolError POD_GONE if the Namespace
     * does not exist, with the signal's reason on abort, else with the KubeError of the request (limit 3 s): a failure
     * never means that there is no annotation.
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
        // A failure is reported to current waiters only, not to later callers.
        annotations.catch(() => {
            if (this.#asked.get(namespace)?.annotations === annotations) this.#asked.delete(namespace);
        });
        return annotations;
    }

    async #live(namespace: string): Promise<Annotations> {
        const found = await this.#components.api.find(namespaces, { name: namespace }, { timeoutMs: askLimitMs });
        if (found !== undefined) return found.metadata?.annotations ?? {};
        throw new IpPoolError("POD_GONE", `Namespace ${namespace} no longer exists`);
    }
}
