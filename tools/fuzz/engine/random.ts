/** Pseudo-random numbers determined by the seed (mulberry32). */
export class Random {
    #state: number;

    constructor(seed: number) {
        this.#state = seed >>> 0;
    }

    /** An integer from 0 to 2^32 - 1. */
    u32(): number {
        this.#state = (this.#state + 0x6d2b79f5) >>> 0;
        let value = this.#state;
        value = Math.imul(value ^ (value >>> 15), value | 1);
        value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
        return (value ^ (value >>> 14)) >>> 0;
    }

    /** An integer from 0 to `end` - 1; 0 if `end` is 0. */
    below(end: number): number {
        return end <= 1 ? 0 : this.u32() % end;
    }

    /** True with probability 1 / `times`. */
    oneIn(times: number): boolean {
        return this.below(times) === 0;
    }

    pick<T>(items: readonly T[]): T | undefined {
        return items[this.below(items.length)];
    }
}
