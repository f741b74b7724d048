import { sleep, systemClock, type Clock } from "@antrea/async";
import { isOutOfService } from "@antrea/ipam";
import {
    WorkQueue,
    hasPodUid,
    nodes as nodeResource,
    podIdentity,
    podLookup,
    pods,
    type ApiClient,
    type Informer,
    type KubeLogger,
    type Node,
    type ReconcileResult,
} from "@antrea/kube";
import { type MetricsFactory } from "@antrea/runtime";
import {
    type Allocation,
    type AllocationCache,
    type AllocationWriter,
    type Fate,
    type Reclaims,
} from "../../platform/allocations/index.ts";
import { type LeaderJobs } from "../../platform/leader-jobs.ts";

/** Dependencies of AllocationCleaner; the caller starts and closes the informer and the cache. */
export interface AllocationCleanerComponents {
    readonly api: Pick<ApiClient, "find" | "list">;
    /** All Nodes; the caller starts and stops the informer. */
    readonly nodes: Pick<Informer<Node>, "get" | "onChange" | "synced">;
    readonly allocations: AllocationCache;
    readonly writer: AllocationWriter;
    readonly reclaims: Reclaims;
    /** Receives the metrics of the work queue. */
    readonly metrics?: MetricsFactory;
    /** Lists the work queue with its last result. */
    readonly jobs?: Pick<LeaderJobs, "show">;
    readonly logger: KubeLogger;
    /** Default: `systemClock`. */
    readonly clock?: Clock;
}

/** Intervals of AllocationCleaner, in milliseconds. */
export interface AllocationCleanerOptions {
    /** How often Nodes that may have left allocations are checked. */
    readonly intervalMs: number;
    /** How long a Node must be gone before its allocations are released. Default 5 min. */
    readonly goneMs?: number;
}

type Reason = "node-gone" | "out-of-service";

const concurrency = 4;
const firstCheckMs = 1_000;
const maxCheckMs = 10_000;

/**
 * Releases allocations that a Node cannot release, during one term of leadership, with a new object for each: those of
 * deleted Nodes, and those of deleted Pods on Nodes that are out of service. An allocation owned by a StatefulSet
 * becomes Reserved, others are deleted. Each decision uses the live allocation, Node and Pod; errors are retried.
 */
export class AllocationCleaner {
    readonly #components: AllocationCleanerComponents;
    readonly #clock: Clock;
    readonly #options: AllocationCleanerOptions;
    readonly #queue: WorkQueue;
    /** When Nodes were first seen gone, by the monotonic clock. */
    readonly #goneSince = new Map<string, number>();
    /** Number of consecutive checks of an out-of-service Node that found nothing to release. */
    readonly #idleChecks = new Map<string, number>();
    /** Allocations that are releasable except for the waiting time of their Node. */
    readonly #suspects = new Map<string, { readonly reason: Reason; readonly count: number }>();

    constructor(components: AllocationCleanerComponents, options: AllocationCleanerOptions) {
        this.#components = components;
        this.#clock = components.clock ?? systemClock;
        this.#options = options;
        this.#queue = new WorkQueue(
            { logger: components.logger, metrics: components.metrics, jobs: components.jobs, clock: this.#clock },
            { name: "allocation-cleaner", concurrency },
            (name, signal) => this.#reconcile(name, signal),
        );
    }

    /**
     * Works until the signal aborts; writes nothing after it resolved. Called once. Rejects only if the signal aborts
     * before the caches are synced.
     */
    async run(signal: AbortSignal): Promise<void> {
        const { nodes, allocations, reclaims } = this.#components;
        await Promise.all([nodes.synced(signal), allocations.synced(signal)]);
        using _gone = reclaims.watch("node-gone", () => this.#count("node-gone"));
        using _out = reclaims.watch("out-of-service", () => this.#count("out-of-service"));
        using _nodes = nodes.onChange((type, name, node, old) => {
            if (type !== "deleted") this.#goneSince.delete(name);
            else this.#goneSince.set(name, this.#clock.monotonic());
            if (type === "deleted" || (isOutOfService(node) && (old === undefined || !isOutOfService(old)))) {
                this.#idleChecks.delete(name);
                this.#queue.add(name);
            }
        });
        this.#queue.start(signal);
        try {
            while (!signal.aborted) {
                for (const name of allocations.nodesInUse) if (this.#mayHaveLeft(name)) this.#queue.add(name);
                await sleep(this.#options.intervalMs, signal, this.#clock).catch(() => undefined);
            }
        } finally {
            await this.#queue.close();
        }
    }

    #count(reason: Reason): number {
        return [...this.#suspects.values()].reduce((sum, each) => sum + (each.reason === reason ? each.count : 0), 0);
    }

    #mayHaveLeft(name: string): boolean {
        const node = this.#components.nodes.get(name);
        return node === undefined || isOutOfService(node);
    }

    async #reconcile(name: string, signal: AbortSignal): Promise<ReconcileResult | void> {
        const node = this.#components.nodes.get(name);
        if (this.#components.allocations.usedOn(name).size === 0 || (node !== undefined && !isOutOfService(node))) {
            this.#goneSince.delete(name);
            this.#idleChecks.delete(name);
            this.#suspects.delete(name);
            this.#queue.forget(name);
            return;
        }
        return node === undefined ? this.#freeOfGone(name, signal) : this.#freeOfOutOfService(name, signal);
    }

    async #freeOfGone(name: string, signal: AbortSignal): Promise<ReconcileResult | void> {
        const { api, allocations } = this.#components;
        const since = this.#goneSince.get(name) ?? this.#clock.monotonic();
        this.#goneSince.set(name, since);
        this.#suspect(name, "node-gone", allocations.usedOn(name).size);
        const left = since + (this.#options.goneMs ?? 300_000) - this.#clock.monotonic();
        if (left > 0) return { requeueAfterMs: left };
        const stillGone = async (): Promise<boolean> => {
            if ((await api.find(nodeResource, { name }, { signal })) === undefined) return true;
            // The Node exists again, or was never deleted: the watch delivers it.
            this.#goneSince.set(name, this.#clock.monotonic());
            return false;
        };
        await this.#free([...allocations.usedOn(name)], "node-gone", stillGone, signal);
        // An agent that is running allocated them again: it gets the same time to observe the deletion of its Node.
        this.#goneSince.set(name, this.#clock.monotonic());
        return { requeueAfterMs: firstCheckMs };
    }

    async #freeOfOutOfService(name: string, signal: AbortSignal): Promise<ReconcileResult> {
        const { api, allocations } = this.#components;
        const { items } = await api.list(pods, { fieldSelector: `spec.nodeName=${name}`, signal });
        const present = podLookup(items.map(podIdentity));
        const left = [...allocations.usedOn(name)].filter(({ pod }) => pod !== undefined && present(pod) === undefined);
        this.#suspect(name, "out-of-service", left.length);
        const podIsGone = async ({ pod }: Allocation): Promise<boolean> => {
            if (pod === undefined) return false;
            const [livePod, node] = await Promise.all([
                api.find(pods, { namespace: pod.namespace, name: pod.name }, { signal }),
                api.find(nodeResource, { name }, { signal }),
            ]);
            return (
                (livePod === undefined || !hasPodUid(livePod, pod.uid)) && node !== undefined && isOutOfService(node)
            );
        };
        await this.#free(left, "out-of-service", podIsGone, signal);
        this.#suspect(name, "out-of-service", 0);
        const idleChecks = left.length > 0 ? 0 : (this.#idleChecks.get(name) ?? 0);
        this.#idleChecks.set(name, idleChecks + 1);
        // The Pods are deleted after the taint is set, manually or by the Pod garbage collector.
        return { requeueAfterMs: Math.min(firstCheckMs * 2 ** idleChecks, maxCheckMs) };
    }

    async #free(
        allocations: readonly Allocation[],
        reason: Reason,
        lastCheck: (live: Allocation) => Promise<boolean>,
        signal: AbortSignal,
    ): Promise<void> {
        const { writer, reclaims, logger } = this.#components;
        for (const { metadata, pod } of allocations) {
            const judge = async (live: Allocation): Promise<Fate> => {
                // The address is now used by another Pod, or by the same Pod on another Node.
                if (live.pod === undefined || live.pod.uid !== pod?.uid || live.pod.nodeName !== pod.nodeName)
                    return undefined;
                if (!(await lastCheck(live))) return undefined;
                return live.owner.kind === "StatefulSet" ? "reserve" : "delete";
            };
            if (!(await writer.change(metadata.name, metadata.uid, judge, signal))) continue;
            reclaims.done(reason);
            logger.info("released an allocation of a lost Node", {
                address: metadata.name,
                node: pod?.nodeName,
                pod: pod && `${pod.namespace}/${pod.name}`,
                podUid: pod?.uid,
                reason,
            });
        }
    }

    #suspect(name: string, reason: Reason, count: number): void {
        if (count === 0) this.#suspects.delete(name);
        else this.#suspects.set(name, { reason, count });
    }
}
