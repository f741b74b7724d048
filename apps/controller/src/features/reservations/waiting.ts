/** StatefulSets that wait for addresses of pools; each pool's in the order in which they were served last. */
export class Waiting {
    readonly #byPool = new Map<string, Set<string>>();
    readonly #bySet = new Map<string, readonly string[]>();

    /** The StatefulSet waits for these pools, behind all others; for none, it does not wait any more. */
    set(key: string, pools: readonly string[]): void {
        for (const pool of this.#bySet.get(key) ?? []) {
            this.#byPool.get(pool)?.delete(key);
            if (this.#byPool.get(pool)?.size === 0) this.#byPool.delete(pool);
        }
        for (const pool of pools) {
            const keys = this.#byPool.get(pool) ?? new Set();
            this.#byPool.set(pool, keys.add(key));
        }
        if (pools.length === 0) this.#bySet.delete(key);
        else this.#bySet.set(key, pools);
    }

    has(pool: string): boolean {
        return this.#byPool.has(pool);
    }

    /** Who is next when this many addresses are free. */
    next(pool: string, count: number): readonly string[] {
        return [...(this.#byPool.get(pool) ?? [])].slice(0, count);
    }
}
