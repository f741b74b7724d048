import { Informer, nodes, type ApiClient, type EventRecorder, type Node } from "@antrea/kube";
import { type Clock, type HealthServer, type LifecyclePart, type Logger, type MetricsFactory } from "@antrea/runtime";
import { Allocator } from "./allocator.ts";
import { nodeIpamMetrics, type NodeIpamMetrics } from "./metrics.ts";
import { type NodeIpamSettings } from "./types.ts";

export interface NodeIpamComponents {
    readonly api: ApiClient;
    readonly recorder: Pick<EventRecorder, "record">;
    readonly metrics: MetricsFactory;
    readonly health: Pick<HealthServer, "addCheck">;
    readonly logger: Logger;
    readonly clock?: Clock;
}

export interface NodeIpamOptions {
    readonly settings: NodeIpamSettings;
    /** Where the ledger lies. */
    readonly namespace: string;
    /** Of this process; each term of leadership adds its own mark. */
    readonly identity: string;
}

/** Name of the ledger's ConfigMap. */
export const ledgerName = "antrea-node-ipam";

/**
 * Gives each Node its podCIDRs. Every replica watches Nodes, so that a new leader begins at once; only the leader
 * writes.
 */
export class NodeIpam {
    readonly part: LifecyclePart;
    readonly #components: NodeIpamComponents;
    readonly #options: NodeIpamOptions;
    readonly #informer: Informer<Node>;
    readonly #metrics: NodeIpamMetrics;
    #term: Allocator | undefined;

    constructor(components: NodeIpamComponents, options: NodeIpamOptions) {
        this.#components = components;
        this.#options = options;
        this.#metrics = nodeIpamMetrics(components.metrics, () => this.#term?.state);
        this.#informer = new Informer<Node>(components, { resource: nodes, transform: slim });
        components.health.addCheck("nodes", "ready", () =>
            this.#informer.hasSynced ? undefined : "Nodes are not listed yet",
        );
        this.part = {
            name: "node-ipam",
            start: (signal) => this.#informer.start(signal),
            stop: () => this.#informer.close(),
        };
    }

    /** The leader's work: one term, until the signal aborts. */
    async lead(signal: AbortSignal): Promise<void> {
        const term = new Allocator(
            { ...this.#components, nodes: this.#informer, metrics: this.#metrics },
            {
                settings: this.#options.settings,
                namespace: this.#options.namespace,
                ledgerName,
                holder: `${this.#options.identity}/${crypto.randomUUID()}`,
            },
        );
        this.#term = term;
        try {
            await term.run(signal);
        } finally {
            this.#term = undefined;
        }
    }
}

// A Node is large (images, conditions); this is all that is needed of it.
function slim(node: Node): Node {
    const { name, uid, resourceVersion, deletionTimestamp } = node.metadata ?? {};
    const { podCIDR, podCIDRs } = node.spec ?? {};
    return {
        metadata: {
            ...(name !== undefined && { name }),
            ...(uid !== undefined && { uid }),
            ...(resourceVersion !== undefined && { resourceVersion }),
            ...(deletionTimestamp !== undefined && { deletionTimestamp }),
        },
        spec: { ...(podCIDR !== undefined && { podCIDR }), ...(podCIDRs !== undefined && { podCIDRs }) },
    };
}
