import { systemClock, type Clock } from "@antrea/async";
import { rangeOf } from "@antrea/ip";
import { type ApiClient, type KubeLogger } from "@antrea/kube";
import { type AllocationCache } from "../../platform/allocations/index.ts";
import { type PoolCache } from "../../platform/pool-cache/index.ts";
import { ClaimHolds } from "./claim-holds.ts";
import { type CidrAllocator } from "./cidr-allocator.ts";
import { type InTheWay, type Reports } from "./reports.ts";

/** IPPools and their claims, where the cluster has any: a subnet of a Node must have none of their addresses. */
export interface PoolAddressesComponents {
    readonly api: Pick<ApiClient, "list">;
    readonly pools: Pick<PoolCache, "get" | "object" | "covering" | "onChange" | "synced">;
    readonly claims: Pick<AllocationCache, "onChange" | "synced">;
    readonly logger: KubeLogger;
    readonly clock?: Clock;
}

/** What IPPools keep out of Nodes' subnets, followed for one term of leadership. */
export interface PoolHolds extends Disposable {
    /** Who holds subnets. */
    readonly inTheWay: InTheWay;
    /** Subnets are wanted: gives up those that are held without cause. True if there are any. */
    release(signal: AbortSignal): Promise<boolean>;
}

/** How soon claims are judged again. */
const releaseMs = 10_000;
/** For how long it is known who holds subnets. */
const wayMs = 1_000;

/** Keeps what IPPools have out of the subnets that Nodes get, and says so on the pool. */
export class PoolAddresses {
    readonly #components: PoolAddressesComponents;

    constructor(components: PoolAddressesComponents) {
        this.#components = components;
    }

    /** Resolves when all pools and claims are known; rejects with ABORTED. */
    async synced(signal: AbortSignal): Promise<void> {
        const { pools, claims } = this.#components;
        await Promise.all([pools.synced(signal), claims.synced(signal)]);
    }

    /** Tells the book of all of them at once, and then of each change. */
    follow(
        book: Pick<CidrAllocator, "reserve" | "subnetOf">,
        reports: Pick<Reports, "poolInside" | "released">,
    ): PoolHolds {
        const { api, pools, claims } = this.#components;
        const holds = new ClaimHolds({ api, pools, book });
        const inside = new Set<string>();
        const stack = new DisposableStack();
        stack.use(
            pools.onChange((name, change) => {
                if (change !== "meaning") return;
                const pool = pools.get(name);
                const object = pools.object(name);
                const ranges = pool?.subnets.map(({ range }) => range) ?? [];
                const gateways = pool?.gateways.map(({ ip }) => ip) ?? [];
                const held = book.reserve(`pool ${name}`, [...ranges, ...gateways.map((ip) => rangeOf(ip))]);
                if (held) inside.add(name);
                else inside.delete(name);
                if (object !== undefined) reports.poolInside(object, ranges, gateways);
            }),
        );
        stack.use(claims.onChange((before, after) => holds.changed(before, after)));
        const { clock = systemClock } = this.#components;
        let known: { readonly until: number; readonly way: InTheWay } | undefined;
        const release = this.#releasing(holds, reports);
        return {
            // All Nodes that wait ask, and there may be 65,000 claims.
            get inTheWay() {
                const now = clock.monotonic();
                if (known === undefined || now >= known.until) {
                    known = { until: now + wayMs, way: { pools: [...inside].sort(), claims: holds.strays } };
                }
                return known.way;
            },
            release,
            [Symbol.dispose]: () => stack.dispose(),
        };
    }

    /** Many Nodes may want subnets at the same time: one look is for all of them. */
    #releasing(holds: ClaimHolds, reports: Pick<Reports, "released">): (signal: AbortSignal) => Promise<boolean> {
        const { clock = systemClock, logger } = this.#components;
        let running: Promise<boolean> | undefined;
        let nextAt = -Infinity;
        const look = async (signal: AbortSignal): Promise<boolean> => {
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
            return (running ??= look(signal));
        };
    }
}
