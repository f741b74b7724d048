import { systemClock, type Clock } from "@antrea/async";
import { rangeOf } from "@antrea/ip";
import { type ApiClient, type KubeLogger } from "@antrea/kube";
import { type AllocationCache } from "../../platform/allocations/index.ts";
import { type PoolCache } from "../../platform/pool-cache/index.ts";
import { AllocationHolds } from "./allocation-holds.ts";
import { type CidrAllocator } from "./cidr-allocator.ts";
import { type Obstacles } from "./obstacles.ts";
import { type Reports } from "./reports.ts";

/** Dependencies of PoolAddresses: the caches of IPPools and their allocations, which the caller starts and closes. */
export interface PoolAddressesComponents {
    readonly api: Pick<ApiClient, "list">;
    readonly pools: Pick<PoolCache, "get" | "object" | "covering" | "onChange" | "synced">;
    readonly allocations: Pick<AllocationCache, "onChange" | "synced">;
    readonly logger: KubeLogger;
    /** Default: `systemClock`. */
    readonly clock?: Clock;
}

/**
 * The exclusions of IPPools from Nodes' subnets, followed for one term of leadership until disposed of; made by
 * `PoolAddresses.follow`.
 */
export interface PoolHolds extends Disposable {
    /** The pools and allocations that hold subnets, as of at most 1 s ago. */
    readonly obstacles: Obstacles;
    /**
     * Called when subnets are needed: drops unjustified holds (`AllocationHolds.release`), logs and reports them. True
     * if there were any, so that an assignment is worth another try. Concurrent calls share one check; for 10 s after
     * one it resolves with false. Rejects if the signal of the check aborts.
     */
    release(signal: AbortSignal): Promise<boolean>;
}

/** Interval between checks of allocations. */
const releaseMs = 10_000;
/** How long `obstacles` is cached. */
const obstaclesMs = 1_000;

/**
 * Excludes the addresses of IPPools, and of allocations, from the subnets that Nodes get, and reports pools and Nodes
 * whose addresses are concerned. One object for all terms; `follow` begins the work of one.
 */
export class PoolAddresses {
    readonly #components: PoolAddressesComponents;

    constructor(components: PoolAddressesComponents) {
        this.#components = components;
    }

    /** Resolves when all pools and allocations are known; rejects with KubeError ABORTED. */
    async synced(signal: AbortSignal): Promise<void> {
        const { pools, allocations } = this.#components;
        await Promise.all([pools.synced(signal), allocations.synced(signal)]);
    }

    /**
     * Passes all of them to the allocator at once, and then each change until disposed of; exclusions made by then
     * remain.
     */
    follow(
        allocator: Pick<CidrAllocator, "reserve" | "subnetOf">,
        reports: Pick<Reports, "poolInside" | "released">,
    ): PoolHolds {
        const { api, pools, allocations } = this.#components;
        const holds = new AllocationHolds({ api, pools, allocator });
        const inside = new Set<string>();
        const stack = new DisposableStack();
        stack.use(
            pools.onChange((name, change) => {
                if (change !== "meaning") return;
                const pool = pools.get(name);
                const object = pools.object(name);
                const ranges = pool?.subnets.map(({ range }) => range) ?? [];
                const gateways = pool?.gateways.map(({ ip }) => ip) ?? [];
                const held = allocator.reserve(`pool ${name}`, [...ranges, ...gateways.map((ip) => rangeOf(ip))]);
                if (held) inside.add(name);
                else inside.delete(name);
                if (object !== undefined) reports.poolInside(object, ranges, gateways);
            }),
        );
        stack.use(allocations.onChange((before, after) => holds.changed(before, after)));
        const { clock = systemClock } = this.#components;
        let known: { readonly until: number; readonly obstacles: Obstacles } | undefined;
        const release = this.#releasing(holds, reports);
        return {
            // All waiting Nodes read it, and there may be 65,000 allocations.
            get obstacles() {
                const now = clock.monotonic();
                if (known === undefined || now >= known.until) {
                    known = {
                        until: now + obstaclesMs,
                        obstacles: { pools: [...inside].sort(), allocations: holds.strays },
                    };
                }
                return known.obstacles;
            },
            release,
            [Symbol.dispose]: () => stack.dispose(),
        };
    }

    /** Many Nodes may need subnets at the same time: they share one check. */
    #releasing(holds: AllocationHolds, reports: Pick<Reports, "released">): (signal: AbortSignal) => Promise<boolean> {
        const { clock = systemClock, logger } = this.#components;
        let running: Promise<boolean> | undefined;
        let nextAt = -Infinity;
        const check = async (signal: AbortSignal): Promise<boolean> => {
            try {
                const { released, failed } = await holds.release(signal);
                for (const each of released) {
                    const { node, ghosts, excess } = each;
                    const counts = { ghosts: ghosts.length, excess: excess.length };
                    logger.warn("allocations outside all pools no longer block subnets", { node, ...counts });
                    reports.released(each);
                }
                const [first] = failed;
                if (first !== undefined) {
                    const fields = { nodes: failed.length, ...first };
                    logger.warn("cannot read the Pods of allocations outside all pools", fields);
                }
                return released.length > 0;
            } finally {
                nextAt = clock.monotonic() + releaseMs;
                running = undefined;
            }
        };
        return async (signal) => {
            if (running === undefined && clock.monotonic() < nextAt) return false;
            return (running ??= check(signal));
        };
    }
}
