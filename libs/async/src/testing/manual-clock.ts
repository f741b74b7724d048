import { type Clock } from "../clock.ts";

interface Timer {
    readonly at: number;
    readonly order: number;
    readonly callback: () => void;
}

/** A clock that stands still until it is told to move. */
export class ManualClock implements Clock {
    readonly #epoch: number;
    readonly #timers = new Set<Timer>();
    #elapsed = 0;
    #order = 0;

    /** `epoch` is the wall time at the start. */
    constructor(epoch: number = Date.UTC(2026, 0, 1)) {
        this.#epoch = epoch;
    }

    /** How many timers are set: 0 when nothing leaks. */
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
     * Moves on by `ms`, calling each timer at its time. Promises get their turn before the first, between two and
     * after the last, so that what they set off can set timers of its own.
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

/** Lets every promise that can settle without I/O do so. */
export function settle(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
}
