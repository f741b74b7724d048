import { Notify, type Clock } from "@antrea/async";

/** Delays of a Pacer, in milliseconds, from the changes of one key. */
export interface PacerOptions {
    /** A key is due after this long without a change. Default 1200. */
    readonly quietMs?: number;
    /** A key that keeps changing is due this long after the first change that was not returned yet. Default 5000. */
    readonly busyMs?: number;
}

/**
 * Debounces changing keys: a key is due once it is quiet, and periodically while it keeps changing; an urgent key is
 * due immediately. `next` returns the due ones, to one caller at a time. Holds no timer while nobody waits.
 */
export class Pacer {
    readonly #clock: Pick<Clock, "monotonic" | "after">;
    readonly #changed: Notify;
    readonly #quietMs: number;
    readonly #busyMs: number;
    readonly #waiting = new Map<string, { readonly firstAt: number; lastAt: number }>();

    constructor(components: { readonly clock: Pick<Clock, "monotonic" | "after"> }, options: PacerOptions = {}) {
        this.#clock = components.clock;
        this.#changed = new Notify(components);
        this.#quietMs = options.quietMs ?? 1_200;
        this.#busyMs = options.busyMs ?? 5_000;
    }

    /** Records a change of the key. */
    changed(key: string): void {
        const now = this.#clock.monotonic();
        // Waiters for an earlier key wake in time.
        if (this.#waiting.size === 0) this.#changed.notify();
        const pace = this.#waiting.get(key);
        if (pace === undefined) this.#waiting.set(key, { firstAt: now, lastAt: now });
        else pace.lastAt = now;
    }

    /** Makes the key due immediately, however often it changes. */
    urgent(key: string): void {
        this.#waiting.set(key, { firstAt: -Infinity, lastAt: this.#clock.monotonic() });
        this.#changed.notify();
    }

    /** Waits for due keys and returns each once, until it changes again. Never rejects: empty if the signal aborts. */
    async next(signal: AbortSignal): Promise<readonly string[]> {
        while (!signal.aborted) {
            const now = this.#clock.monotonic();
            const keys = [...this.#waiting.keys()];
            const due = keys.filter((key) => this.#dueAt(key) <= now);
            for (const key of due) this.#waiting.delete(key);
            if (due.length > 0) return due;
            const first = Math.min(...keys.map((key) => this.#dueAt(key)));
            await this.#changed.wait(keys.length === 0 ? { signal } : { signal, ms: first - now });
        }
        return [];
    }

    #dueAt(key: string): number {
        const { firstAt = 0, lastAt = 0 } = this.#waiting.get(key) ?? {};
        return Math.min(lastAt + this.#quietMs, firstAt + this.#busyMs);
    }
}
