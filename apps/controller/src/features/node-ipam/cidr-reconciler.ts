import { sleep, systemClock, type Clock } from "@antrea/async";
import { isErrorOf } from "@antrea/errors";
import { formatPrefix, type Prefix } from "@antrea/ip";
import { podCidrTexts } from "@antrea/ipam";
import {
    WorkQueue,
    isKubeError,
    nodes,
    type ApiClient,
    type ChangeType,
    type EventRecorder,
    type Informer,
    type KubeLogger,
    type Node,
    type ReconcileResult,
} from "@antrea/kube";
import { type MetricsFactory } from "@antrea/runtime";
import { type LeaderJobs } from "../../platform/leader-jobs.ts";
import { CidrAllocator } from "./cidr-allocator.ts";
import { NodeIpamError } from "./errors.ts";
import { LedgerStore } from "./ledger-store.ts";
import { type NodeIpamMetrics, type NodeIpamState } from "./metrics.ts";
import { type PoolAddresses, type PoolHolds } from "./pool-addresses.ts";
import { Reports } from "./reports.ts";
import { type Ledger, type NodeIpamSettings } from "./types.ts";

/** Dependencies of CidrReconciler; the caller starts and closes the watches. */
export interface CidrReconcilerComponents {
    readonly api: Pick<ApiClient, "find" | "create" | "update" | "patch">;
    /** All Nodes; the caller starts and stops the informer. */
    readonly nodes: Pick<Informer<Node>, "get" | "list" | "onChange" | "synced">;
    readonly recorder: Pick<EventRecorder, "record">;
    readonly metrics: NodeIpamMetrics;
    /** Receives the metrics of the work queue. */
    readonly queueMetrics?: MetricsFactory;
    /** Lists the work queue with its last result. */
    readonly jobs?: Pick<LeaderJobs, "show">;
    /** Addresses of IPPools; absent while IPPools are disabled. */
    readonly poolAddresses?: PoolAddresses | undefined;
    readonly logger: KubeLogger;
    /** Default: `systemClock`. */
    readonly clock?: Clock;
}

/** Options of CidrReconciler. */
export interface CidrReconcilerOptions {
    readonly settings: NodeIpamSettings;
    /** Namespace of the ledger's ConfigMap. */
    readonly namespace: string;
    /** Name of the ledger's ConfigMap. */
    readonly ledgerName: string;
    /** Unique for this term of leadership: the holder that is written into the ledger. */
    readonly holder: string;
    /** Nodes processed concurrently. Default 64. */
    readonly concurrency?: number;
}

const tidyMs = 1_000;
const exhaustedMs = 30_000;
const patchTimeoutMs = 10_000;

/**
 * NodeIPAM during one term of leadership, with a new object for each: takes over the ledger, then gives each Node
 * without podCIDRs a subnet, records it in the ledger and writes it to the Node. Problems are reported as events of the
 * Node and retried.
 */
export class CidrReconciler {
    readonly #components: CidrReconcilerComponents;
    readonly #clock: Clock;
    readonly #options: CidrReconcilerOptions;
    readonly #allocator: CidrAllocator;
    readonly #reports: Reports;
    readonly #queue: WorkQueue;
    readonly #waiting = new Set<string>();
    readonly #duplicates = new Set<string>();
    readonly #lost = new AbortController();
    #ledger: LedgerStore | undefined;
    #pools: PoolHolds | undefined;

    constructor(components: CidrReconcilerComponents, options: CidrReconcilerOptions) {
        this.#components = components;
        this.#clock = components.clock ?? systemClock;
        this.#options = options;
        this.#allocator = new CidrAllocator(options.settings, () => this.#clock.monotonic());
        this.#reports = new Reports(components, { clusters: options.settings.clusters.map(({ prefix }) => prefix) });
        this.#queue = new WorkQueue(
            { logger: components.logger, metrics: components.queueMetrics, jobs: components.jobs, clock: this.#clock },
            { name: "node-ipam", concurrency: options.concurrency ?? 64 },
            (key, signal) => this.#reconcile(key, signal),
        );
    }

    /** True once it holds the ledger and assigns podCIDRs. */
    get working(): boolean {
        return this.#ledger !== undefined;
    }

    /** The state for metrics, whose members are live. */
    get state(): NodeIpamState {
        return { allocator: this.#allocator, waiting: this.#waiting, duplicates: this.#duplicates };
    }

    /**
     * Runs until the signal aborts or another controller takes the ledger; writes nothing after it resolved. Called
     * once. Rejects if it cannot take over the ledger, with the error of LedgerStore.takeOver, or if the signal aborts
     * before.
     */
    async run(leading: AbortSignal): Promise<void> {
        const signal = AbortSignal.any([leading, this.#lost.signal]);
        const { poolAddresses } = this.#components;
        await Promise.all([this.#components.nodes.synced(signal), poolAddresses?.synced(signal)]);
        const { namespace, ledgerName: name, holder } = this.#options;
        const ledger = new LedgerStore(this.#components, {
            namespace,
            name,
            holder,
            signal,
            snapshot: () => this.#allocator.snapshot(),
            written: (written, seconds) => {
                this.#allocator.recorded(written);
                this.#components.metrics.ledgerWritten(seconds);
            },
        });
        this.#begin(await ledger.takeOver());
        this.#ledger = ledger;
        using pools = poolAddresses?.follow(this.#allocator, this.#reports);
        this.#pools = pools;
        using _changes = this.#components.nodes.onChange((type, key, node) => this.#changed(type, key, node));
        this.#queue.start(signal);
        try {
            while (!signal.aborted) {
                await sleep(tidyMs, signal, this.#clock).catch(() => undefined);
                if (!signal.aborted) await this.#tidy();
            }
        } finally {
            await this.#queue.close();
        }
    }

    #begin(ledger: Ledger): void {
        const now = this.#clock.now();
        this.#allocator.load(ledger, now);
        // Nodes deleted while no controller was running: the time is unknown, so their cooling time starts now.
        for (const node of [...this.#allocator.nodes()]) {
            if (this.#components.nodes.get(node) === undefined) this.#allocator.gone(node, now);
        }
        // All existing podCIDRs are known before the first subnet is assigned.
        for (const node of this.#components.nodes.list()) this.#seen(node);
    }

    #changed(type: ChangeType, key: string, node: Node): void {
        if (type === "deleted") {
            for (const other of this.#allocator.problems(key).duplicates) this.#queue.add(other);
            this.#allocator.gone(key, this.#clock.now());
        } else {
            this.#seen(node);
        }
        this.#queue.add(key);
    }

    #seen(node: Node): void {
        this.#allocator.seen(node.metadata?.name ?? "", podCidrTexts(node), this.#clock.now());
    }

    // An answer may arrive after the watch has delivered the deletion of the Node, or a new Node of its name.
    #seenLive(node: Node): void {
        const known = this.#components.nodes.get(node.metadata?.name ?? "");
        if (known?.metadata?.uid === node.metadata?.uid) this.#seen(node);
    }

    async #reconcile(name: string, signal: AbortSignal): Promise<ReconcileResult | void> {
        const node = this.#components.nodes.get(name);
        if (node === undefined) {
            this.#waiting.delete(name);
            this.#duplicates.delete(name);
            this.#reports.forget(name);
            this.#queue.forget(name);
            return;
        }
        if (podCidrTexts(node).length > 0) return this.#settled(node);
        // It is being deleted; a subnet would only have to cool down afterwards.
        if (node.metadata?.deletionTimestamp !== undefined) {
            this.#waiting.delete(name);
            return;
        }
        return this.#assign(name, node, signal);
    }

    #settled(node: Node): void {
        const name = node.metadata?.name ?? "";
        this.#waiting.delete(name);
        const problems = this.#allocator.problems(name);
        if (problems.duplicates.length === 0) {
            this.#duplicates.delete(name);
        } else {
            this.#duplicates.add(name);
            for (const other of problems.duplicates) if (!this.#duplicates.has(other)) this.#queue.add(other);
        }
        this.#reports.problems(node, problems);
    }

    async #assign(name: string, node: Node, signal: AbortSignal): Promise<ReconcileResult | void> {
        for (;;) {
            // It may have been deleted while the ledger was written, with its subnets cooling: a pending assignment
            // without a Node would keep them for good.
            if (!this.#isUnserved(node)) return;
            const assignment = this.#allocator.assign(name, this.#clock.now());
            if (assignment.kind === "exhausted") {
                if ((await this.#pools?.release(signal)) === true) continue;
                signal.throwIfAborted();
                if (!this.#waiting.has(name)) this.#logWaiting(name, assignment.freeAtMs);
                this.#waiting.add(name);
                this.#components.metrics.exhausted(assignment.clusters);
                this.#reports.exhausted(node, assignment.clusters, this.#pools?.obstacles);
                // `#serveWaiting` adds it as soon as there is room; this repeats the report that there is none.
                return { requeueAfterMs: exhaustedMs };
            }
            this.#waiting.delete(name);
            if (assignment.recorded) return this.#write(name, node, assignment.cidrs, signal);
            await this.#commit();
            signal.throwIfAborted();
        }
    }

    /** Whether the Node still exists without podCIDRs; the informer has queued any other change. */
    #isUnserved({ metadata }: Node): boolean {
        const known = this.#components.nodes.get(metadata?.name ?? "");
        return known !== undefined && known.metadata?.uid === metadata?.uid && podCidrTexts(known).length === 0;
    }

    #logWaiting(node: string, freeAtMs: number | undefined): void {
        const nextFree = freeAtMs === undefined ? "when a Node is removed" : new Date(freeAtMs).toISOString();
        this.#components.logger.warn("no free subnet; the Node waits", { node, nextFree });
    }

    async #write(name: string, node: Node, cidrs: readonly Prefix[], signal: AbortSignal): Promise<void> {
        const podCIDRs = cidrs.map(formatPrefix);
        // With the UID the patch applies to this very Node only; the API server rejects a change of existing podCIDRs.
        const body = { metadata: { uid: node.metadata?.uid }, spec: { podCIDR: podCIDRs[0], podCIDRs } };
        const { api, metrics, logger } = this.#components;
        try {
            this.#seenLive(
                await api.patch(nodes, { name }, { type: "merge", body }, { signal, timeoutMs: patchTimeoutMs }),
            );
            metrics.allocated(cidrs);
            logger.info("assigned podCIDRs", { node: name, podCIDRs });
        } catch (error) {
            if (signal.aborted) throw error;
            const mustRead = isKubeError(error, "NOT_FOUND", "CONFLICT", "INVALID", "FORBIDDEN");
            if (!mustRead && !(isKubeError(error) && error.outcomeUnknown)) throw error;
            await this.#readAgain(name, node, cidrs, error, signal);
        }
    }

    /** Reads the Node after a patch that was rejected or whose outcome is unknown. */
    async #readAgain(
        name: string,
        expected: Node,
        cidrs: readonly Prefix[],
        cause: unknown,
        signal: AbortSignal,
    ): Promise<void> {
        const node = await this.#components.api.find(nodes, { name }, { signal });
        // Deleted or recreated: the informer queues it again.
        if (node === undefined || node.metadata?.uid !== expected.metadata?.uid) return;
        const has = podCidrTexts(node);
        if (has.length === 0) {
            throw new NodeIpamError("NODE_CHANGED", "environment", `Node ${name} did not take its podCIDRs`, { cause });
        }
        this.#seenLive(node);
        const ours = has.join(",") === cidrs.map(formatPrefix).join(",");
        if (ours) this.#components.metrics.allocated(cidrs);
        this.#components.logger.info("the Node has podCIDRs already", { node: name, podCIDRs: has, ours });
    }

    async #tidy(): Promise<void> {
        this.#allocator.prune(this.#clock.now());
        this.#serveWaiting();
        if (!this.#allocator.dirty) return;
        try {
            await this.#commit();
        } catch (error) {
            // `#commit` marked the allocator dirty, so the next run retries.
            if (!this.#lost.signal.aborted) this.#components.logger.warn("cannot write the ledger", { error });
        }
    }

    /** Queues waiting Nodes, only as many as there is room for. */
    #serveWaiting(): void {
        if (this.#waiting.size === 0) return;
        let room = this.#allocator.room(this.#clock.now());
        for (const name of this.#waiting) {
            if (room <= 0) return;
            this.#queue.add(name);
            room -= 1;
        }
    }

    async #commit(): Promise<void> {
        try {
            await this.#ledger?.commit();
        } catch (error) {
            this.#allocator.markDirty();
            if (isErrorOf(NodeIpamError, error, "LEDGER_LOST") && !this.#lost.signal.aborted) {
                this.#components.logger.warn("another controller has taken over the ledger; stopping", { error });
                this.#lost.abort(error);
            }
            throw error;
        }
    }
}
