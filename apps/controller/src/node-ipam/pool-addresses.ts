import { rangeOf } from "@antrea/ip";
import { type ClaimBook } from "../claims/index.ts";
import { type PoolBook } from "../pools/index.ts";
import { type CidrBook } from "./cidr-book.ts";
import { type Reports } from "./reports.ts";

/** IPPools and their claims, where the cluster has any: a subnet of a Node must have none of their addresses. */
export interface PoolAddressesComponents {
    readonly pools: Pick<PoolBook, "get" | "object" | "onChange" | "synced">;
    readonly claims: Pick<ClaimBook, "onChange" | "synced">;
}

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
    follow(book: Pick<CidrBook, "reserve">, reports: Pick<Reports, "poolInside">): Disposable {
        const { pools, claims } = this.#components;
        const stack = new DisposableStack();
        stack.use(
            pools.onChange((name, change) => {
                if (change !== "meaning") return;
                const pool = pools.get(name);
                const object = pools.object(name);
                const ranges = pool?.subnets.map(({ range }) => range) ?? [];
                book.reserve(`pool ${name}`, ranges);
                if (object !== undefined) reports.poolInside(object, ranges);
            }),
        );
        stack.use(
            claims.onChange((before, after) => {
                const claim = after ?? before;
                if (claim === undefined || (before !== undefined && after !== undefined)) return;
                book.reserve(`claim ${claim.metadata.name}`, after === undefined ? [] : [rangeOf(after.ip)]);
            }),
        );
        return stack;
    }
}
