import { Notify, sleep, systemClock, type Clock } from "@antrea/async";
import { allocationName, ipPools, type IpAllocation } from "@antrea/crd";
import { formatIp, parseIp } from "@antrea/ip";
import { readPool, type NewReservation, type ReservationPlan } from "@antrea/ipam";
import {
    WorkQueue,
    namespaces,
    refOf,
    statefulSets,
    type ApiClient,
    type EventRecorder,
    type KubeLogger,
    type ReconcileResult,
} from "@antrea/kube";
import { type MetricsFactory } from "@antrea/runtime";
import {
    setKeyOf,
    type Allocation,
    type AllocationCache,
    type AllocationWriter,
    type Fate,
    type Reclaims,
} from "../../platform/allocations/index.ts";
import { type LeaderJobs } from "../../platform/leader-jobs.ts";
import { type PoolCache } from "../../platform/pool-cache/index.ts";
import { asksNamespace, demandOf, type Demand } from "./demand.ts";
import { OwnWrites } from "./own-writes.ts";
import { freeCount, planFor, type PlanningInput } from "./planning.ts";
import { reportBeyond, reportGivenUp, reportKept, reportMissing, reportProblems } from "./reports.ts";
import { type SetCache } from "./set-cache.ts";
import { Waiting } from "./waiting.ts";

/** Dependencies of Reservations; the caller starts and closes the caches. */
export interface ReservationsComponents {
    readonly api: Pick<ApiClient, "find">;
    readonly sets: SetCache;
    readonly pools: PoolCache;
    readonly allocations: AllocationCache;
    readonly writer: AllocationWriter;
    readonly reclaims: Reclaims;
    readonly recorder: Pick<EventRecorder, "record">;
    /** Receives the metrics of the work queue. */
    readonly metrics?: MetricsFactory;
    /** Lists the work queue with its last result. */
    readonly jobs?: Pick<LeaderJobs, "show">;
    readonly logger: KubeLogger;
    /** Default: `systemClock`. */
    readonly clock?: Clock;
}

/** Options of Reservations, in milliseconds. */
export interface ReservationsOptions {
    /** How often all StatefulSets with reservations are checked, in addition to changes. */
    readonly intervalMs: number;
}

const concurrency = 8;
/** Agents wait 20 s for a reservation. */
const maxBackoffMs = 5_000;
/** Concurrent reservations of one StatefulSet. */
const ordinalsAtOnce = 8;
/** How long freed addresses are collected before StatefulSets are woken. */
const gatherMs = 250;
/** Retry interval of a waiting StatefulSet without freed addresses; repeats the event. */
const waitingMs = 30_000;
/** Retry delay of a StatefulSet after addresses were freed or taken, if no watch event arrives before. */
const givenUpMs = 1_000;
/** How long an ADD may take to take all addresses of an interface. */
const leftMs = 60_000;
/** Maximum number of StatefulSets woken at once for one pool. */
const wokenAtOnce = 64;

/**
 * Reserves addresses for the ordinals of StatefulSets and releases unneeded reservations, during one term of
 * leadership: a new object for each term. Problems are reported as events of the StatefulSet and retried. Only `run`
 * writes.
 */
export class Reservations {
    readonly #components: ReservationsComponents;
    readonly #clock: Clock;
    readonly #options: ReservationsOptions;
    readonly #queue: WorkQueue;
    readonly #own: OwnWrites;
    readonly #waiting = new Waiting();
    /** Pools with freed addresses whose waiting StatefulSets were not woken yet. */
    readonly #freed = new Set<string>();
    readonly #cameFree: Notify;
    /** The list of allocations started in this term. */
    #refresh: Promise<void> | undefined;
    #isRefreshed = false;
    /** By StatefulSet with a reservation outstanding: names of addresses that turned out to be allocated to others. */
    readonly #taken = new Map<string, Set<string>>();
    /** By StatefulSet, what was reported: that addresses are reserved for some ordinals only, or kept. */
    readonly #reported = new Map<string, string>();
    /**
     * By StatefulSet, since when (monotonic, ms) a reservation for an interface of a network was seen that the ordinal's Pod
     * did not take, by UID.
     */
    readonly #leftSince = new Map<string, ReadonlyMap<string, number>>();
    /** Number of allocations to release, by StatefulSet. */
    readonly #unwanted = new Map<string, number>();

    constructor(components: ReservationsComponents, options: ReservationsOptions) {
        this.#components = components;
        this.#clock = components.clock ?? systemClock;
        this.#options = options;
        this.#own = new OwnWrites(this.#clock);
        this.#cameFree = new Notify({ clock: this.#clock });
        this.#queue = new WorkQueue(
            { logger: components.logger, metrics: components.metrics, jobs: components.jobs, clock: this.#clock },
            { name: "reservations", concurrency, maxBackoffMs },
            (key, signal) => this.#reconcile(key, signal),
        );
    }

    /**
     * Works until the signal aborts; writes nothing after it resolved. Called once. Rejects only if the signal aborts
     * before the caches are synced.
     */
    async run(signal: AbortSignal): Promise<void> {
        const { sets, pools, allocations, reclaims } = this.#components;
        await Promise.all([sets.synced(signal), pools.synced(signal), allocations.synced(signal)]);
        using _leaks = reclaims.watch("reservation-unwanted", () =>
            [...this.#unwanted.values()].reduce((sum, count) => sum + count, 0),
        );
        using _allocations = allocations.onChange((before, after) => this.#allocationChanged(before, after));
        using _sets = sets.onChange((key) => this.#queue.add(key));
        using _pools = pools.onChange((name, change) => {
            if (change === "meaning") for (const key of sets.asking(name)) this.#queue.add(key);
        });
        this.#queue.start(signal);
        try {
            let nextAt = this.#clock.monotonic() + this.#options.intervalMs;
            while (!signal.aborted) {
                await this.#cameFree.wait({ ms: nextAt - this.#clock.monotonic(), signal });
                if (this.#freed.size > 0) {
                    // Other addresses become free at the same time.
                    await sleep(gatherMs, signal, this.#clock).catch(() => undefined);
                    this.#wake();
                }
                if (this.#clock.monotonic() < nextAt) continue;
                nextAt = this.#clock.monotonic() + this.#options.intervalMs;
                for (const key of [...this.#own.prune(), ...allocations.sets]) this.#queue.add(key);
            }
        } finally {
            await this.#queue.close();
        }
    }

    #allocationChanged(before: Allocation | undefined, after: Allocation | undefined): void {
        const allocation = after ?? before;
        if (allocation === undefined) return;
        this.#own.forget(allocation.metadata);
        const key = setKeyOf(allocation);
        if (key !== undefined) this.#queue.add(key);
        if (after !== undefined) return;
        for (const pool of [allocation.pool, ...this.#components.pools.covering(allocation.ip)]) {
            if (this.#waiting.has(pool)) this.#freed.add(pool);
        }
        if (this.#freed.size > 0) this.#cameFree.notify();
    }

    /** Queues as many waiting StatefulSets as there are addresses. */
    #wake(): void {
        for (const pool of this.#freed) {
            const free = freeCount(pool, this.#components);
            const count = free < wokenAtOnce ? Number(free) : wokenAtOnce;
            for (const key of this.#waiting.next(pool, count)) this.#queue.add(key);
        }
        this.#freed.clear();
    }

    async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult | void> {
        const { sets, writer } = this.#components;
        // An ordinal whose reservation got no answer would appear to have none, and get a second address.
        await this.#own.settle(key, (name) => writer.read(name, signal));
        const taken = this.#taken.get(key) ?? new Set<string>();
        this.#taken.set(key, taken);
        for (;;) {
            signal.throwIfAborted();
            const demand = sets.get(key);
            // Its Namespace is not known yet; the StatefulSet is queued when it is.
            if (demand === undefined && sets.has(key)) return void this.#taken.delete(key);
            const plan = this.#plan(key, demand, taken);
            // Not the StatefulSet that the watch delivered: it will deliver the new one.
            if (demand !== undefined && plan.adopt.length > 0 && !(await this.#adopt(plan.adopt, demand, signal)))
                return;
            const changes = plan.release.length > 0 || plan.create.length > 0;
            if (demand !== undefined && changes && (await this.#refreshOnce(signal))) continue;
            if (plan.release.length > 0) await this.#release(key, demand, signal);
            else this.#unwanted.delete(key);
            // Another address is reserved after the watch has delivered the deletion of the first: an ordinal never has
            // two.
            if (plan.givenUp.length > 0) return { requeueAfterMs: givenUpMs };
            if (demand !== undefined && plan.create.length > 0) {
                await this.#create(key, demand, plan.create, taken, signal);
                // Conflicts and the rest of the plan are planned again, at the end of the queue.
                return void this.#queue.add(key);
            }
            // What was just freed, or was taken in earlier runs, may be what is missing: the watch delivers it.
            if (plan.missing !== undefined && (plan.release.length > 0 || taken.size > 0)) {
                this.#taken.delete(key);
                this.#waiting.set(key, plan.missing.pools);
                return { requeueAfterMs: givenUpMs };
            }
            return this.#settle(key, demand, plan);
        }
    }

    /**
     * Lists the allocations before the first change of a term: the watch may not have delivered the previous leader's
     * reservations, and an ordinal with a second address would lose its first; one with only half of its addresses
     * known would lose those. True if the plan must be repeated.
     */
    async #refreshOnce(signal: AbortSignal): Promise<boolean> {
        if (this.#isRefreshed) return false;
        this.#refresh ??= this.#components.allocations.refresh(signal);
        try {
            await this.#refresh;
        } catch (error) {
            this.#refresh = undefined;
            throw error;
        }
        this.#isRefreshed = true;
        return true;
    }

    #plan(key: string, demand: Demand | undefined, taken: ReadonlySet<string>): ReturnType<typeof planFor> {
        const own = this.#own;
        const now = this.#clock.monotonic();
        const [before, seen] = [this.#leftSince.get(key), new Map<string, number>()];
        const isLeftOver: PlanningInput["isLeftOver"] = ({ metadata: { uid = "" } = {} }) => {
            const since = before?.get(uid) ?? now;
            seen.set(uid, since);
            return now - since >= leftMs;
        };
        const plan = planFor(this.#components, {
            key,
            demand,
            isLeftOver,
            unseen: own.of(key),
            taken: { has: (name) => taken.has(name) || own.has(name) },
        });
        if (seen.size > 0) this.#leftSince.set(key, seen);
        else this.#leftSince.delete(key);
        return plan;
    }

    #settle(
        key: string,
        demand: Demand | undefined,
        { missing, beyond }: Pick<ReservationPlan, "missing" | "beyond">,
    ): ReconcileResult | undefined {
        this.#taken.delete(key);
        this.#waiting.set(key, missing?.pools ?? []);
        if (missing === undefined) this.#reportOnce(key, demand, beyond);
        if (demand === undefined || missing === undefined) {
            if (demand === undefined) this.#queue.forget(key);
            if (demand === undefined || demand.hostNetwork || demand.problems.length === 0) return undefined;
            reportProblems(this.#components, demand);
            return { requeueAfterMs: waitingMs };
        }
        reportMissing(this.#components, demand, missing);
        return { requeueAfterMs: waitingMs };
    }

    #reportOnce(key: string, demand: Demand | undefined, beyond: number): void {
        const allocations = demand?.hostNetwork === true ? [...this.#components.allocations.ofSet(key)] : [];
        const kept = allocations.filter(({ pod }) => pod === undefined).length;
        if (demand === undefined || beyond + kept === 0) return void this.#reported.delete(key);
        const text = JSON.stringify([demand.uid, beyond > 0, kept]);
        if (this.#reported.get(key) === text) return;
        this.#reported.set(key, text);
        if (kept > 0) reportKept(this.#components, demand, kept);
        else reportBeyond(this.#components, demand, beyond);
    }

    async #create(
        key: string,
        demand: Demand,
        plan: readonly NewReservation[],
        taken: Set<string>,
        signal: AbortSignal,
    ): Promise<void> {
        const { writer, logger } = this.#components;
        const ordinals = [...Map.groupBy(plan, ({ ordinal }) => ordinal).values()];
        let reserved = 0;
        const reserve = async ({ ip, pool, ordinal }: NewReservation): Promise<void> => {
            const name = allocationName(ip);
            const { namespace, name: set, uid } = demand;
            const owner = { kind: "StatefulSet", namespace, name: set, uid, index: ordinal } as const;
            const made = await this.#own.writing(key, name, () => writer.reserve({ ip, pool, owner }, signal));
            if (made === undefined) taken.add(name);
            else reserved += 1;
        };
        for (let from = 0; from < ordinals.length; from += ordinalsAtOnce) {
            signal.throwIfAborted();
            const results = await Promise.allSettled(
                ordinals
                    .slice(from, from + ordinalsAtOnce)
                    .flat()
                    .map(reserve),
            );
            const failed = results.find((result) => result.status === "rejected");
            if (failed !== undefined) throw failed.reason;
        }
        logger.info("reserved addresses", {
            statefulSet: key,
            reserved,
            first: plan[0] && formatIp(plan[0].ip),
            taken: plan.length - reserved,
        });
    }

    /**
     * Assigns allocations of an earlier StatefulSet of the name to the current one. False if that is not the expected
     * one.
     */
    async #adopt(allocations: readonly IpAllocation[], demand: Demand, signal: AbortSignal): Promise<boolean> {
        const { writer, logger } = this.#components;
        const key = `${demand.namespace}/${demand.name}`;
        if ((await this.#readDemand(key, signal))?.uid !== demand.uid) return false;
        const judge = (live: Allocation): Fate =>
            setKeyOf(live) === key && live.owner.uid !== demand.uid ? { adoptBy: demand.uid } : undefined;
        for (const { name = "", uid = "" } of allocations.map(({ metadata = {} }) => metadata)) {
            if (!(await writer.change(name, uid, judge, signal))) continue;
            logger.info("StatefulSet adopted an address of a deleted one with its name", {
                statefulSet: key,
                address: name,
            });
        }
        return true;
    }

    /** Releases what the StatefulSet does not request now, according to the API server. */
    async #release(key: string, seen: Demand | undefined, signal: AbortSignal): Promise<void> {
        const { writer, reclaims, logger } = this.#components;
        const live = await this.#readDemand(key, signal);
        // Not the one that the watch delivered: it will deliver the new one.
        if (live?.uid !== seen?.uid) return;
        const { release, givenUp } = this.#plan(key, live, new Set());
        this.#unwanted.set(key, release.length);
        const judge = (allocation: Allocation): Fate =>
            allocation.pod === undefined && setKeyOf(allocation) === key ? "delete" : undefined;
        for (const allocation of release) {
            const { name = "", uid = "" } = allocation.metadata ?? {};
            const isGivenUp = givenUp.includes(allocation);
            if (isGivenUp && (await this.#canBeHad(allocation, live, signal))) continue;
            if (!(await writer.change(name, uid, judge, signal))) continue;
            this.#own.forget({ name, uid });
            reclaims.done("reservation-unwanted");
            logger.info("released a reservation that no StatefulSet needs", { statefulSet: key, address: name });
            if (isGivenUp && live !== undefined) reportGivenUp(this.#components, live, allocation);
        }
        this.#unwanted.delete(key);
    }

    /** Whether a listed pool contains the address after all, according to the API server. */
    async #canBeHad({ spec }: IpAllocation, demand: Demand | undefined, signal: AbortSignal): Promise<boolean> {
        if (demand?.pools?.names.includes(spec.pool) !== true) return false;
        const pool = await this.#components.api.find(ipPools, { name: spec.pool }, { signal });
        return pool === undefined || readPool(pool).subnetOf(parseIp(spec.address)) !== undefined;
    }

    async #readDemand(key: string, signal: AbortSignal): Promise<Demand | undefined> {
        const { api } = this.#components;
        const { namespace, name } = refOf(key);
        const set = await api.find(statefulSets, { namespace, name }, { signal });
        if (set === undefined) return undefined;
        const asked = asksNamespace(set) ? await api.find(namespaces, { name: namespace }, { signal }) : undefined;
        return demandOf(set, asked);
    }
}
