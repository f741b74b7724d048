import { type Clock } from "../clock.ts";

interface Timer {
    readonly at: number;
    readonly order: number;
    readonly callback: () => void;
}

/**
 * A clock for tests whose time passes only by `advance`. `monotonic` starts at 0, wall time by default at 2026-01-01
 * UTC.
 */
export class ManualClock implements Clock {
    readonly #epoch: number;
    readonly #timers = new Set<Timer>();
    #elapsed = 0;
    #order = 0;

    /** @param epoch wall time at the start, in milliseconds since 1970-01-01 UTC; default 2026-01-01 */
    constructor(epoch: number = Date.UTC(2026, 0, 1)) {
        this.#epoch = epoch;
    }

    /** Number of pending timers; 0 at the end of a test shows that none leaks. */
    get pending(): number {
        return this.#timers.size;
    }

    now(): number {
        return this.#epoch + this.#elapsed;
    }

    monotonic(): number {
        return this.#elapsed;
    }

    after(ms: number, callback: () => void): Disposable {
        this.#order += 1;
        const timer = { at: this.#elapsed + Math.max(ms, 0), order: this.#order, callback };
        this.#timers.add(timer);
        return { [Symbol.dispose]: () => void this.#timers.delete(timer) };
    }

    /**
     * Advances time by `ms` milliseconds and calls the timers that are due, each at its own time. Promises are settled
     * before the first timer, between timers and after the last, so that their callbacks can set further timers.
     */
    async advance(ms: number): Promise<void> {
        const end = this.#elapsed + ms;
        await settle();
        for (let timer = this.#next(end); timer !== undefined; timer = this.#next(end)) {
            this.#timers.delete(timer);
            this.#elapsed = timer.at;
            timer.callback();
            await settle();
        }
        this.#elapsed = end;
    }

    #next(end: number): Timer | undefined {
        let next: Timer | undefined;
        for (const timer of this.#timers) {
            if (timer.at > end) continue;
            if (next === undefined || timer.at < next.at || (timer.at === next.at && timer.order < next.order))
                next = timer;
        }
        return next;
    }
}

/** Resolves after the pending microtasks, so that all promises that need no I/O have settled. */
export function settle(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
}
