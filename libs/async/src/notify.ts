import { systemClock, type Clock } from "./clock.ts";

export interface NotifyWait {
    /** At most so long. Default until it rings. */
    readonly ms?: number;
    readonly signal?: AbortSignal;
}

/** Lets one loop rest until there is something to do. */
export class Notify {
    readonly #clock: Pick<Clock, "after">;
    #isRung = false;
    #wake: (() => void) | undefined;

    constructor(components: { readonly clock?: Pick<Clock, "after"> } = {}) {
        this.#clock = components.clock ?? systemClock;
    }

    /** Ends the wait, or the next one if nobody waits; how often it is rung before does not matter. */
    ring(): void {
        this.#isRung = true;
        this.#wake?.();
    }

    /** Forgets that it was rung: what it was rung for is being done. */
    clear(): void {
        this.#isRung = false;
    }

    /**
     * Resolves when it is rung, at once if it was rung since the last wait, when the time is over, or as soon as the signal
     * aborts; never rejects. For one waiter at a time.
     */
    async wait({ ms, signal }: NotifyWait = {}): Promise<void> {
        if (!this.#isRung && signal?.aborted !== true) {
            const { promise, resolve } = Promise.withResolvers<void>();
            this.#wake = resolve;
            signal?.addEventListener("abort", resolve as () => void, { once: true });
            const timer = ms === undefined ? undefined : this.#clock.after(ms, resolve);
            await promise;
            timer?.[Symbol.dispose]();
            signal?.removeEventListener("abort", resolve as () => void);
            this.#wake = undefined;
        }
        this.clear();
    }
}
