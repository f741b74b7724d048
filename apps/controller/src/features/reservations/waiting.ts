/**
 * StatefulSets that wait for addresses, per pool, least recently served first; keys are `namespace/name`. In memory
 * only.
 */
export class Waiting {
    readonly #byPool = new Map<string, Set<string>>();
    readonly #bySet = new Map<string, readonly string[]>();

    /**
     * Adds the StatefulSet at the end of these pools' queues, and removes it from all others; without pools it waits no
     * more.
     */
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

    /** Whether a StatefulSet waits for addresses of the pool. */
    has(pool: string): boolean {
        return this.#byPool.has(pool);
    }

    /** The next StatefulSets when this many addresses are free: at most `count`, by key. They stay in the queue. */
    next(pool: string, count: number): readonly string[] {
        return [...(this.#byPool.get(pool) ?? [])].slice(0, count);
    }
}
