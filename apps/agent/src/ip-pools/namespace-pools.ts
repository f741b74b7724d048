import { poolsAnnotation } from "@antrea/crd";
import { type Annotations } from "@antrea/ipam";
import { Informer, namespaces, type ApiClient, type KubeLogger, type Namespace } from "@antrea/kube";
import { type Clock } from "@antrea/runtime";
import { IpPoolError } from "./errors.ts";
import { isPassing, untilAborted } from "./requests.ts";

export interface NamespacePoolsComponents {
    readonly api: Pick<ApiClient, "list" | "watch" | "find">;
    readonly logger: KubeLogger;
    readonly clock: Clock;
}

/** So that many Pods that start at once ask once. */
const reuseMs = 1_000;
/** Pods of the Node's subnets wait no longer than this for an API server that does not answer. */
const askLimitMs = 3_000;

interface Asked {
    readonly at: number;
    readonly annotations: Promise<Annotations>;
}

/** The pools annotations of the Namespaces. */
export class NamespacePools {
    readonly #components: NamespacePoolsComponents;
    readonly #informer: Informer<Namespace>;
    readonly #asked = new Map<string, Asked>();

    constructor(components: NamespacePoolsComponents) {
        this.#components = components;
        this.#informer = new Informer(components, { resource: namespaces, transform: slimNamespace });
    }

    start(signal: AbortSignal): void {
        this.#informer.start(signal);
    }

    close(): Promise<void> {
        return this.#informer.close();
    }

    /**
     * The annotations that matter. A value that is known counts: it cannot change while Pods use it. That there is none
     * may be old news, so the API server is asked; while it is away, what was last known is the answer.
     */
    async annotations(namespace: string, signal: AbortSignal): Promise<Annotations> {
        const known = this.#informer.get(namespace);
        if (known?.metadata?.annotations?.[poolsAnnotation] !== undefined) return known.metadata.annotations;
        try {
            return await untilAborted(this.#ask(namespace), signal);
        } catch (error) {
            if (known !== undefined && isPassing(error)) return {};
            throw error;
        }
    }

    #ask(namespace: string): Promise<Annotations> {
        const now = this.#components.clock.monotonic();
        for (const [name, { at }] of this.#asked) {
            if (now - at < reuseMs) break;
            this.#asked.delete(name);
        }
        const asked = this.#asked.get(namespace);
        if (asked !== undefined) return asked.annotations;
        const annotations = this.#live(namespace);
        this.#asked.set(namespace, { at: now, annotations });
        // A failure is for those who wait for it, not for those who come later.
        annotations.catch(() => this.#asked.delete(namespace));
        return annotations;
    }

    async #live(namespace: string): Promise<Annotations> {
        const found = await this.#components.api.find(namespaces, { name: namespace }, { timeoutMs: askLimitMs });
        if (found !== undefined) return found.metadata?.annotations ?? {};
        throw new IpPoolError("POD_GONE", `Namespace ${namespace} does not exist any more`);
    }
}

function slimNamespace({ metadata }: Namespace): Namespace {
    const { name = "", uid = "", resourceVersion = "" } = metadata ?? {};
    const value = metadata?.annotations?.[poolsAnnotation];
    return {
        metadata: {
            ...{ name, uid, resourceVersion },
            ...(value !== undefined && { annotations: { [poolsAnnotation]: value } }),
        },
    };
}
