import { systemClock, type Clock } from "./clock.ts";

/** Limits of `Notify.wait`: a time, a signal, or both. */
export interface NotifyWait {
    /** Longest wait in milliseconds. Default: no limit. */
    readonly ms?: number;
    /** Ends the wait when it aborts. */
    readonly signal?: AbortSignal;
}

/** A level-triggered notification for one waiting loop: `notify` wakes it, and is remembered until the next wait ends. */
export class Notify {
    readonly #clock: Pick<Clock, "after">;
    #isPending = false;
    #wake: (() => void) | undefined;

    constructor(components: { readonly clock?: Pick<Clock, "after"> } = {}) {
        this.#clock = components.clock ?? systemClock;
    }

    /** Ends the current wait, or the next one if there is none. Several calls before a wait count as one. */
    notify(): void {
        this.#isPending = true;
        this.#wake?.();
    }

    /** Discards a pending notification, because its work is being done now. */
    clear(): void {
        this.#isPending = false;
    }

    /**
     * Resolves at the next notification, immediately if one is pending, or after `ms` milliseconds, or when the signal
     * aborts. Never rejects. Only one caller may wait at a time: a second one takes the notifications of the first. The
     * wait discards a pending notification however it ends, and its caller cannot distinguish which of the three it was.
     */
    async wait({ ms, signal }: NotifyWait = {}): Promise<void> {
        if (!this.#isPending && signal?.aborted !== true) {
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
