import { type Clock, orAborted } from "@antrea/async";
import { blockOf, ipAllocations, type IpPoolStatus } from "@antrea/crd";
import { formatPrefix, RangeSet, type IpAddress, type Prefix } from "@antrea/ip";
import { type Pool } from "@antrea/ipam";
import { type ApiClient } from "@antrea/kube";
import { allocationIp } from "./allocations.ts";
import { type Cooldown } from "./cooldown.ts";
import { type IpamMetrics } from "./metrics.ts";
import { type KnownPool } from "./pool-cache.ts";
import { retryUntilAnswered } from "./requests.ts";

/** Dependencies of PoolScanner. */
export interface PoolScanComponents {
    readonly api: Pick<ApiClient, "pages">;
    readonly clock: Clock;
    readonly cooldown: Cooldown;
    /** Names of the pools whose ranges overlap: their allocations count too. */
    readonly overlapping: (pool: Pool) => readonly string[];
    readonly metrics: Pick<IpamMetrics, "relist" | "retry">;
    /** Returns numbers in [0, 1). */
    readonly random: () => number;
}

/** Upper limit of remembered free addresses: with more free ones a random choice succeeds quickly. */
const maxCandidates = 4_096;
const maxBlocks = 32;
const scanLimitMs = 30_000;
const intervalMs = 10_000;
/**
 * While the controller reports the pool as full, the interval doubles up to this: the controller would update the
 * status, but it may be down.
 */
const maxIntervalMs = 60_000;

/**
 * Result of listing all allocations of a pool: the addresses that were free, at most 4096 of them (a random choice of
 * more), each handed out once. It may be outdated: another agent may have allocated one since.
 */
export class PoolScan {
    /** Monotonic time in milliseconds. */
    readonly startedAt: number;
    /** The pool status at the time of the scan. */
    readonly status: IpPoolStatus | undefined;
    /** Up to 32 of the blocks (/24, /120) that have free addresses. */
    readonly blocks: readonly Prefix[];
    readonly #candidates: IpAddress[];

    constructor(
        { startedAt, status }: { readonly startedAt: number; readonly status: IpPoolStatus | undefined },
        candidates: readonly IpAddress[],
    ) {
        this.startedAt = startedAt;
        this.status = status;
        // Taken from the end.
        this.#candidates = [...candidates].reverse();
        const blocks = new Map<string, Prefix>();
        for (const ip of candidates) {
            if (blocks.size === maxBlocks) break;
            const block = blockOf(ip);
            blocks.set(formatPrefix(block), block);
        }
        this.blocks = [...blocks.values()];
    }

    /** The next address to try, those in cooldown last; each is returned once. Undefined if none is left. */
    take(): IpAddress | undefined {
        return this.#candidates.pop();
    }
}

/**
 * Lists all allocations of one pool and of overlapping pools if the choice by blocks finds nothing: one list at a time,
 * shared by all callers, whose result is reused for 10 s to 60 s. One scanner serves one pool.
 */
export class PoolScanner {
    readonly #components: PoolScanComponents;
    #running: Promise<PoolScan> | undefined;
    #last: PoolScan | undefined;
    #fullIntervalMs = intervalMs;

    constructor(components: PoolScanComponents) {
        this.#components = components;
    }

    /** The last result, which may be outdated; undefined before the first. */
    get last(): PoolScan | undefined {
        return this.#last;
    }

    /**
     * Whether the last scan is too recent for another one: 10 s, up to 60 s while the controller reports the pool as
     * full.
     */
    isFresh({ status }: Pick<KnownPool, "status">): boolean {
        if (this.#last === undefined) return false;
        const interval = status?.usage?.free === 0 ? this.#fullIntervalMs : intervalMs;
        return this.#components.clock.monotonic() - this.#last.startedAt < interval;
    }

    /**
     * Scans the pool, or returns the last scan while it is fresh; joins a running scan. Rejects with KubeError if the
     * API server does not answer within 30 s, and on abort with the signal's reason: the scan continues for the other
     * callers.
     */
    async scan(target: KnownPool, signal: AbortSignal): Promise<PoolScan> {
        if (this.#last !== undefined && this.#running === undefined && this.isFresh(target)) return this.#last;
        this.#running ??= this.#read(target).finally(() => (this.#running = undefined));
        return orAborted(this.#running, signal);
    }

    /** How long the next empty result is reused if this one finds nothing either. */
    #nextFullInterval(startedAt: number, isEmpty: boolean): number {
        const idleMs = startedAt - (this.#last?.startedAt ?? -Infinity);
        if (!isEmpty || idleMs >= 2 * maxIntervalMs) return intervalMs;
        return Math.min(2 * this.#fullIntervalMs, maxIntervalMs);
    }

    async #read({ pool, usable, status }: KnownPool): Promise<PoolScan> {
        const { api, clock, metrics, overlapping } = this.#components;
        metrics.relist();
        const startedAt = clock.monotonic();
        // Shared by all waiters: no single caller may abort it.
        const signal = AbortSignal.timeout(scanLimitMs);
        const claimed = await retryUntilAnswered(
            async () => {
                const ips: IpAddress[] = [];
                for (const name of [pool.name, ...overlapping(pool)]) {
                    const query = { fieldSelector: `spec.pool=${name}`, signal };
                    for await (const { items } of api.pages(ipAllocations, query)) ips.push(...items.map(allocationIp));
                }
                return ips;
            },
            { signal, clock, onRepeat: metrics.retry },
        );
        const free = usable.subtract(RangeSet.ofAddresses(claimed));
        this.#fullIntervalMs = this.#nextFullInterval(startedAt, free.isEmpty);
        this.#last = new PoolScan({ startedAt, status }, this.#ordered(this.#sample(free)));
        return this.#last;
    }

    #sample(free: RangeSet): IpAddress[] {
        if (free.size <= BigInt(maxCandidates)) return [...free];
        const { random } = this.#components;
        return Array.from({ length: maxCandidates }, () => free.at(randomBelow(free.size, random)));
    }

    /** Random order, so that agents with the same list do not collide; addresses in cooldown come last. */
    #ordered(ips: IpAddress[]): readonly IpAddress[] {
        const { cooldown, random } = this.#components;
        for (let last = ips.length - 1; last > 0; last -= 1) {
            const at = Math.floor(random() * (last + 1));
            const [one, other] = [ips[at], ips[last]];
            if (one !== undefined && other !== undefined) [ips[at], ips[last]] = [other, one];
        }
        const left = new Map(ips.map((ip) => [ip, cooldown.left(ip)]));
        return ips.sort((one, other) => (left.get(one) ?? 0) - (left.get(other) ?? 0));
    }
}

/**
 * A random integer in [0, count); `count` is positive and may exceed the integer precision of a double. `random`
 * returns numbers in [0, 1).
 */
export function randomBelow(count: bigint, random: () => number): bigint {
    const drawn = BigInt(Math.floor(random() * Number(count)));
    return drawn < count ? drawn : count - 1n;
}
