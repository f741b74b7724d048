import { type Clock } from "@antrea/async";
import { ipAllocations, type IpAllocation } from "@antrea/crd";
import { formatIp, type IpAddress } from "@antrea/ip";
import { compareOfOrdinal } from "@antrea/ipam";
import { Informer, type ApiClient, type KubeLogger } from "@antrea/kube";
import { type AllocationWriter } from "./allocation-writer.ts";
import { allocationIp, isForOrdinal, mayTake, type Holder } from "./allocations.ts";
import { type IpPoolError } from "./errors.ts";
import { type PodEvents } from "./pod-events.ts";
import { type KnownPool } from "./pool-cache.ts";
import { type ReservationHolders } from "./reservation-holders.ts";
import { type ClaimedAddress, type SetPlace } from "./types.ts";

/** Dependencies of Reservations. */
export interface ReservationsComponents {
    readonly api: Pick<ApiClient, "list" | "watch">;
    readonly logger: KubeLogger;
    readonly clock: Clock;
    readonly writer: AllocationWriter;
    readonly holders: ReservationHolders;
    readonly events: Pick<PodEvents, "waiting">;
}

/** Settings of Reservations; times in milliseconds. */
export interface ReservationsOptions {
    /** How long an ADD waits for its reservation. Default 20 s. */
    readonly waitMs?: number | undefined;
    /** How long the reservations of an unused pool remain watched. Default 1 min. */
    readonly idleMs?: number | undefined;
}

/** A requested reservation: one ordinal in the pools of one family. */
export interface ReservationWanted {
    readonly place: SetPlace;
    /** At least one; all of one family. */
    readonly pools: readonly KnownPool[];
    /** The fixed address that the ordinal must have; undefined: the one reserved for it. */
    readonly fixed: IpAddress | undefined;
    /** The address that an allocation provides; undefined if its pool no longer contains it. */
    addressOf(allocation: IpAllocation): ClaimedAddress | undefined;
}

/** After this time an event on the Pod reports what it waits for. */
const reportAfterMs = 1_000;

interface View {
    readonly informer: Informer<IpAllocation>;
    usedAt: number;
}

interface Search extends ReservationWanted {
    readonly views: readonly View[];
    taken: ClaimedAddress | undefined;
}

/**
 * The addresses that the controller reserves for StatefulSet ordinals. Only the controller creates and deletes
 * reservations; an agent takes them for the Pods of its Node and gives them back. The reservations of a pool are
 * watched only while StatefulSet Pods start here, until `closeIdle` or `close`.
 */
export class Reservations {
    readonly #components: ReservationsComponents;
    readonly #waitMs: number;
    readonly #idleMs: number;
    readonly #stop = new AbortController();
    readonly #views = new Map<string, View>();

    constructor(components: ReservationsComponents, options: ReservationsOptions = {}) {
        this.#components = components;
        this.#waitMs = options.waitMs ?? 20_000;
        this.#idleMs = options.idleMs ?? 60_000;
    }

    /**
     * Takes the reservations of an ordinal, one per family and in the order of `wanted`, after waiting until all exist:
     * a taken one counts as used, and the controller frees an incomplete reservation only if it was never used. After 1
     * s an event on the Pod reports what it waits for. Rejects with IpPoolError NOT_RESERVED, HELD_ON_OTHER_NODE or
     * POOL_DELETED if one is missing after `waitMs`, with the signal's reason on abort, else as AllocationWriter does;
     * some may be taken then, which the caller gives back.
     */
    async take(
        wanted: readonly ReservationWanted[],
        holder: Holder,
        signal: AbortSignal,
    ): Promise<readonly ClaimedAddress[]> {
        const { clock } = this.#components;
        const searches = wanted.map((one): Search => {
            return { ...one, views: one.pools.map(({ pool }) => this.#view(pool.name)), taken: undefined };
        });
        const views = searches.flatMap((search) => search.views);
        const late = Promise.withResolvers<void>();
        const onAbort = (): void => late.resolve();
        signal.addEventListener("abort", onAbort, { once: true });
        using _ = clock.after(this.#waitMs, late.resolve);
        const ended = new AbortController();
        const waiting = AbortSignal.any([signal, ended.signal]);
        using _report = clock.after(reportAfterMs, () => void this.#report(searches, holder, waiting));
        let changed = Promise.withResolvers<void>();
        const listeners = views.map(({ informer }) => informer.onChange(() => changed.resolve()));
        try {
            for (let goesOn = true; goesOn && !signal.aborted;) {
                changed = Promise.withResolvers();
                await this.#takeFound(searches, holder, signal);
                const taken = searches.flatMap((search) => search.taken ?? []);
                if (taken.length === searches.length) return taken;
                goesOn = await Promise.race([changed.promise.then(() => true), late.promise.then(() => false)]);
            }
        } finally {
            ended.abort();
            signal.removeEventListener("abort", onAbort);
            for (const listener of listeners) listener[Symbol.dispose]();
            for (const view of views) view.usedAt = clock.monotonic();
        }
        signal.throwIfAborted();
        throw await this.#whyNot(searches, holder, signal);
    }

    /** Takes the remaining reservations if all of them exist. */
    async #takeFound(searches: readonly Search[], holder: Holder, signal: AbortSignal): Promise<void> {
        const { writer } = this.#components;
        const open = searches.filter(({ taken }) => taken === undefined);
        const allocations = open.flatMap((search) => found(search, holder) ?? []);
        if (allocations.length < open.length) return;
        // The watch may lag behind: the first is taken after the others were confirmed.
        const [first, ...others] = allocations;
        const seen = await Promise.all(others.map((allocation) => writer.find(allocationIp(allocation), signal)));
        const live = seen.flatMap((allocation, at) =>
            allocation !== undefined && isSame(allocation, others[at]) && mayTake(allocation, holder)
                ? [allocation]
                : [],
        );
        if (first === undefined || live.length < others.length) return;
        for (const [at, allocation] of [first, ...live].entries()) {
            const search = open[at];
            const pool = search?.pools.find(({ pool: { name } }) => name === allocation.spec.pool);
            const taken = await writer.take(allocation, holder, signal, pool?.version);
            if (search === undefined || taken === undefined) return;
            search.taken = search.addressOf(taken);
        }
    }

    /**
     * Ends the watches that have not been used for `idleMs`, and waits for them; the next `take` of such a pool starts
     * a new one.
     */
    async closeIdle(): Promise<void> {
        const now = this.#components.clock.monotonic();
        const idle = [...this.#views].filter(([, { usedAt }]) => now - usedAt > this.#idleMs);
        for (const [pool] of idle) this.#views.delete(pool);
        await Promise.all(idle.map(([, { informer }]) => informer.close()));
    }

    /** Ends all watches and waits for them; `take` must not be called any more. */
    async close(): Promise<void> {
        this.#stop.abort();
        await Promise.all([...this.#views.values()].map(({ informer }) => informer.close()));
    }

    #view(pool: string): View {
        const known = this.#views.get(pool);
        // The view must not be closed while a caller waits.
        if (known !== undefined) return Object.assign(known, { usedAt: Infinity });
        const informer = new Informer(this.#components, {
            resource: ipAllocations,
            fieldSelector: `spec.pool=${pool},spec.state=Reserved`,
        });
        informer.start(this.#stop.signal);
        const view = { informer, usedAt: Infinity };
        this.#views.set(pool, view);
        return view;
    }

    /** Records on the Pod what it waits for, unless it has the address by then. Never rejects. */
    async #report(searches: readonly Search[], holder: Holder, signal: AbortSignal): Promise<void> {
        try {
            const reason = await this.#whyNot(searches, holder, signal);
            if (!signal.aborted && searches.some(({ taken }) => taken === undefined)) {
                this.#components.events.waiting(holder.pod, reason.message);
            }
        } catch {
            // The API server does not answer: the error of the allocation reports that.
        }
    }

    #whyNot(searches: readonly Search[], holder: Holder, signal: AbortSignal): Promise<IpPoolError> {
        const open = searches.filter(({ taken }) => taken === undefined);
        const { place, pools, fixed } = open.find((search) => found(search, holder) === undefined) ?? open[0]!;
        const names = pools.map(({ pool }) => pool.name);
        const family = pools[0]!.pool.family;
        const missing = { place, fixed, family, pools: names, isDeleting: pools.every(({ isDeleting }) => isDeleting) };
        return this.#components.holders.explain(missing, holder, signal);
    }
}

/** The allocation in the views of a search; of several, the one that the controller keeps. */
function found({ views, place, fixed, addressOf }: Search, { pod }: Holder): IpAllocation | undefined {
    const fits = (allocation: IpAllocation): boolean =>
        isForOrdinal(allocation, pod.namespace, place) &&
        (fixed === undefined || allocation.spec.address === formatIp(fixed)) &&
        addressOf(allocation) !== undefined;
    const [first, ...others] = views.flatMap(({ informer }) => informer.list().filter(fits));
    return first && others.reduce((one, other) => (compareOfOrdinal(one, other) <= 0 ? one : other), first);
}

function isSame({ metadata }: IpAllocation, other: IpAllocation | undefined): boolean {
    return metadata?.uid === other?.metadata?.uid;
}
