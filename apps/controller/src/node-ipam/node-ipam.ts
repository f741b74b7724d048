import { type ApiClient, type EventRecorder, type Informer, type Node } from "@antrea/kube";
import { type Clock, type Logger, type MetricsFactory } from "@antrea/runtime";
import { Allocator } from "./allocator.ts";
import { nodeIpamMetrics, type NodeIpamMetrics } from "./metrics.ts";
import { type PoolAddresses } from "./pool-addresses.ts";
import { type NodeIpamSettings } from "./types.ts";

export interface NodeIpamComponents {
    readonly api: ApiClient;
    /** All Nodes, with their podCIDRs; started and stopped by someone else. */
    readonly nodes: Informer<Node>;
    readonly recorder: Pick<EventRecorder, "record">;
    readonly metrics: MetricsFactory;
    /** Of IPPools; absent while they are off. */
    readonly poolAddresses?: PoolAddresses | undefined;
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

/** Gives each Node its podCIDRs: what the leader does. */
export class NodeIpam {
    readonly #components: NodeIpamComponents;
    readonly #options: NodeIpamOptions;
    readonly #metrics: NodeIpamMetrics;
    #term: Allocator | undefined;

    constructor(components: NodeIpamComponents, options: NodeIpamOptions) {
        this.#components = components;
        this.#options = options;
        this.#metrics = nodeIpamMetrics(components.metrics, () => this.#term?.state);
    }

    /** The leader's work: one term, until the signal aborts. */
    async lead(signal: AbortSignal): Promise<void> {
        const term = new Allocator(
            { ...this.#components, metrics: this.#metrics },
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
