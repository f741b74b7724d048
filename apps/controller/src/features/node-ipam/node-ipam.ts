import { aborted, Backoff, sleep, systemClock, type Clock } from "@antrea/async";
import { messageOf } from "@antrea/errors";
import { type ApiClient, type EventRecorder, type Informer, type Node } from "@antrea/kube";
import { type Logger, type MetricsFactory } from "@antrea/runtime";
import { type LeaderJobs } from "../../platform/leader-jobs.ts";
import { CidrReconciler } from "./cidr-reconciler.ts";
import { CidrAllocator } from "./cidr-allocator.ts";
import { NodeIpamError } from "./errors.ts";
import { nodeIpamMetrics, type NodeIpamMetrics } from "./metrics.ts";
import { type PoolAddresses } from "./pool-addresses.ts";
import { type NodeIpamSettings } from "./types.ts";

/** Dependencies of NodeIpam; the caller starts and closes the watches. */
export interface NodeIpamComponents {
    readonly api: ApiClient;
    /** All Nodes, with their podCIDRs; the caller starts and stops the informer. */
    readonly nodes: Informer<Node>;
    readonly recorder: Pick<EventRecorder, "record">;
    readonly metrics: MetricsFactory;
    /** Lists the work queue with its last result. */
    readonly jobs?: Pick<LeaderJobs, "show">;
    /** Addresses of IPPools; absent while IPPools are disabled. */
    readonly poolAddresses?: PoolAddresses | undefined;
    readonly logger: Logger;
    /** Default: `systemClock`. */
    readonly clock?: Clock;
}

/** Options of NodeIpam. */
export interface NodeIpamOptions {
    readonly settings: NodeIpamSettings;
    /** Namespace of the ledger. */
    readonly namespace: string;
    /** Of this process; each term of leadership adds a suffix, for the holder of the ledger. */
    readonly identity: string;
}

/** Name of the ledger's ConfigMap. */
const ledgerName = "antrea-node-ipam";

const retryMs = { initialMs: 1_000, maxMs: 30_000 };

/**
 * Assigns each Node its podCIDRs: the work of the leader, with retries, metrics and readiness. One object for all
 * terms, and one for a registry of metrics. A configuration that cannot work (`MASK_SIZE`, `TOO_MANY_SUBNETS`) does not
 * throw: it is the `problem`.
 */
export class NodeIpam {
    readonly #components: NodeIpamComponents;
    readonly #options: NodeIpamOptions;
    readonly #metrics: NodeIpamMetrics;
    /** A configuration error that no leader can work with. */
    readonly #refused: NodeIpamError | undefined;
    #term: CidrReconciler | undefined;
    #failure: unknown;

    constructor(components: NodeIpamComponents, options: NodeIpamOptions) {
        this.#components = components;
        this.#options = options;
        this.#metrics = nodeIpamMetrics(components.metrics, () => this.#term?.state);
        this.#refused = refusalOf(options.settings);
    }

    /** Why Nodes get no podCIDRs, for /readyz; undefined if they do, or another process leads. */
    get problem(): string | undefined {
        if (this.#refused !== undefined) return messageOf(this.#refused);
        return this.#failure === undefined || this.#term?.working === true ? undefined : messageOf(this.#failure);
    }

    /**
     * The leader's work for one term: runs until the signal aborts, or another controller takes the ledger, which
     * resolves. Errors are logged and retried after 1 to 30 s, and do not end the other work of the leader; with a
     * configuration that cannot work it only waits. Rejects if the signal aborts during a request.
     */
    async lead(signal: AbortSignal): Promise<void> {
        const { logger, clock = systemClock } = this.#components;
        const failed = (error: unknown): void => logger.error("NodeIPAM cannot work, Nodes get no podCIDRs", { error });
        if (this.#refused !== undefined) {
            failed(this.#refused);
            return aborted(signal);
        }
        const backoff = new Backoff(retryMs);
        try {
            while (!signal.aborted) {
                try {
                    return await this.#work(signal);
                } catch (error) {
                    if (signal.aborted) throw error;
                    failed(error);
                    this.#failure = error;
                    await sleep(backoff.next(), signal, clock).catch(() => undefined);
                }
            }
        } finally {
            this.#failure = undefined;
        }
    }

    async #work(signal: AbortSignal): Promise<void> {
        const term = new CidrReconciler(
            { ...this.#components, metrics: this.#metrics, queueMetrics: this.#components.metrics },
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

function refusalOf(settings: NodeIpamSettings): NodeIpamError | undefined {
    try {
        new CidrAllocator(settings);
        return undefined;
    } catch (error) {
        if (error instanceof NodeIpamError) return error;
        throw error;
    }
}
