import { systemClock, type Clock } from "@antrea/async";
import { ipPools, type IpPool, type IpPoolStatus, type IpPoolUsage } from "@antrea/crd";
import {
    WorkQueue,
    isKubeError,
    onlyIf,
    referenceTo,
    type ApiClient,
    type EventRecorder,
    type KubeLogger,
} from "@antrea/kube";
import { type MetricsFactory } from "@antrea/runtime";
import { claimedBlocks, type Allocation, type AllocationCache } from "../../platform/allocations/index.ts";
import { type LeaderJobs } from "../../platform/leader-jobs.ts";
import { type PoolCache } from "../../platform/pool-cache/index.ts";
import { evaluate, turnedBad } from "./evaluate.ts";
import { Pacer, type PacerOptions } from "./pacer.ts";
import { measure } from "./measure.ts";

/** Dependencies of PoolStatusWriter; the caller starts and closes the caches. */
export interface PoolStatusComponents {
    readonly api: Pick<ApiClient, "patch">;
    readonly pools: PoolCache;
    readonly allocations: AllocationCache;
    readonly recorder: Pick<EventRecorder, "record">;
    /** Receives the metrics of the work queue. */
    readonly metrics?: MetricsFactory;
    /** Lists the work queue with its last result. */
    readonly jobs?: Pick<LeaderJobs, "show">;
    readonly logger: KubeLogger;
    /** Default: `systemClock`. */
    readonly clock?: Clock;
}

const writeTimeoutMs = 10_000;
const concurrency = 8;
const maxBackoffMs = 5_000;

/**
 * Keeps the status of all IPPools up to date during one term of leadership: a new object for each term. Exhausted and
 * Overlapping that become True are also reported as Warning events of the pool with these reasons. Failed writes are
 * retried.
 */
export class PoolStatusWriter {
    readonly #components: PoolStatusComponents;
    readonly #clock: Clock;
    readonly #pacer: Pacer;
    readonly #queue: WorkQueue;
    readonly #usages = new Map<string, IpPoolUsage>();

    constructor(components: PoolStatusComponents, options: PacerOptions = {}) {
        this.#components = components;
        this.#clock = components.clock ?? systemClock;
        this.#pacer = new Pacer({ clock: this.#clock }, options);
        this.#queue = new WorkQueue(
            { logger: components.logger, metrics: components.metrics, jobs: components.jobs, clock: this.#clock },
            { name: "pool-status", concurrency, maxBackoffMs },
            (name, signal) => this.#reconcile(name, signal),
        );
    }

    /** The usage of each pool as of its last update, by pool name; live, without pools that are not processed yet. */
    get usages(): ReadonlyMap<string, IpPoolUsage> {
        return this.#usages;
    }

    /**
     * Works until the signal aborts; writes nothing after it resolved. Called once. Rejects only if the signal aborts
     * before the caches are synced.
     */
    async run(signal: AbortSignal): Promise<void> {
        const { pools, allocations } = this.#components;
        await Promise.all([pools.synced(signal), allocations.synced(signal)]);
        // All pools are processed initially; the replay of known allocations is ignored.
        let replaying = true;
        using _allocations = allocations.onChange((before, after) => {
            if (!replaying) this.#allocationChanged(before, after);
        });
        replaying = false;
        using _pools = pools.onChange((name) => this.#poolChanged(name));
        this.#queue.start(signal);
        try {
            while (!signal.aborted) {
                for (const name of await this.#pacer.next(signal)) this.#queue.add(name);
            }
        } finally {
            await this.#queue.close();
        }
    }

    /**
     * A user who creates a pool or changes its ranges expects the counts immediately; unlike allocations, pools
     * rarely change.
     */
    #poolChanged(name: string): void {
        const { metadata, status } = this.#components.pools.object(name) ?? {};
        const isCounted = metadata === undefined || status?.observedGeneration === metadata.generation;
        if (isCounted) this.#pacer.changed(name);
        else this.#pacer.urgent(name);
    }

    #allocationChanged(before: Allocation | undefined, after: Allocation | undefined): void {
        const allocation = after ?? before;
        if (allocation === undefined) return;
        // An allocation takes its address from every pool that contains it, whichever it names.
        this.#pacer.changed(allocation.pool);
        for (const pool of this.#components.pools.covering(allocation.ip)) this.#pacer.changed(pool);
    }

    async #reconcile(name: string, signal: AbortSignal): Promise<void> {
        const { pools, allocations } = this.#components;
        const object = pools.object(name);
        const pool = pools.get(name);
        if (object === undefined || pool === undefined) {
            this.#usages.delete(name);
            this.#queue.forget(name);
            return;
        }
        const overlaps = pools.overlaps(name);
        const usable = pools.usable(name);
        const claimed = claimedBlocks(usable, allocations);
        const { usage, freeBlocks } = measure(usable, claimed);
        this.#usages.set(name, usage);
        const generation = object.metadata?.generation ?? 0;
        const now = new Date(this.#clock.now());
        const further = pools.further(name);
        const { finalizers = [] } = object.metadata ?? {};
        const findings = { generation, pool, usage, freeBlocks, overlaps, further, finalizers };
        const status = evaluate(findings, object.status, now);
        if (!sameStatus(status, object.status)) await this.#write(object, status, signal);
    }

    async #write(object: IpPool, status: IpPoolStatus, signal: AbortSignal): Promise<void> {
        const { api, recorder } = this.#components;
        const { name = "", uid = "", resourceVersion = "" } = object.metadata ?? {};
        const patch = onlyIf({ type: "merge", body: { status } }, { uid, resourceVersion });
        try {
            await api.patch(ipPools, { name }, patch, { subresource: "status", signal, timeoutMs: writeTimeoutMs });
        } catch (error) {
            if (isKubeError(error, "NOT_FOUND")) return;
            // Changed meanwhile, by another writer or by a write whose answer was lost: the watch delivers it.
            if (isKubeError(error, "CONFLICT")) return this.#pacer.changed(name);
            throw error;
        }
        for (const { type, message } of turnedBad(status, object.status)) {
            const regarding = referenceTo(ipPools, object);
            recorder.record({ regarding, type: "Warning", reason: type, action: "UpdateStatus", note: message });
        }
    }
}

function sameStatus(a: IpPoolStatus, b: IpPoolStatus | undefined): boolean {
    return b !== undefined && canonical(a) === canonical(b);
}

// The API server orders fields differently.
function canonical({ usage, conditions, freeBlocks, observedGeneration }: IpPoolStatus): string {
    return JSON.stringify([
        [usage?.total, usage?.used, usage?.reserved, usage?.free],
        conditions?.map((each) => [
            each.type,
            each.status,
            each.reason,
            each.message,
            each.lastTransitionTime,
            each.observedGeneration,
        ]),
        freeBlocks,
        observedGeneration,
    ]);
}
