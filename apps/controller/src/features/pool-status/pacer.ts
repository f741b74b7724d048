import { Notify, type Clock } from "@antrea/async";

export interface PacerOptions {
    /** A key is due when nothing changed for this long. Default 1200. */
    readonly quietMs?: number;
    /** A key that does not come to rest is due this often. Default 5000. */
    readonly busyMs?: number;
}

/**
 * Says when keys that change are worth looking at: soon after they came to rest, and now and then while they do not; of
 * urgent ones at once.
 */
export class Pacer {
    readonly #clock: Pick<Clock, "monotonic" | "after">;
    readonly #bell: Notify;
    readonly #quietMs: number;
    readonly #busyMs: number;
    readonly #waiting = new Map<string, { readonly firstAt: number; lastAt: number }>();

    constructor(components: { readonly clock: Pick<Clock, "monotonic" | "after"> }, options: PacerOptions = {}) {
        this.#clock = components.clock;
        this.#bell = new Notify(components);
        this.#quietMs = options.quietMs ?? 1_200;
        this.#busyMs = options.busyMs ?? 5_000;
    }

    changed(key: string): void {
        const now = this.#clock.monotonic();
        // Whoever waits for one that was there before wakes early enough.
        if (this.#waiting.size === 0) this.#bell.ring();
        const pace = this.#waiting.get(key);
        if (pace === undefined) this.#waiting.set(key, { firstAt: now, lastAt: now });
        else pace.lastAt = now;
    }

    /** The key is due at once, however often it changes. */
    urgent(key: string): void {
        this.#waiting.set(key, { firstAt: -Infinity, lastAt: this.#clock.monotonic() });
        this.#bell.ring();
    }

    /** The keys that are due, as soon as there is one; each is given once. None when the signal aborts. */
    async next(signal: AbortSignal): Promise<readonly string[]> {
        while (!signal.aborted) {
            const now = this.#clock.monotonic();
            const keys = [...this.#waiting.keys()];
            const due = keys.filter((key) => this.#dueAt(key) <= now);
            for (const key of due) this.#waiting.delete(key);
            if (due.length > 0) return due;
            const first = Math.min(...keys.map((key) => this.#dueAt(key)));
            await this.#bell.wait(keys.length === 0 ? { signal } : { signal, ms: first - now });
        }
        return [];
    }

    #dueAt(key: string): number {
        const { firstAt = 0, lastAt = 0 } = this.#waiting.get(key) ?? {};
        return Math.min(lastAt + this.#quietMs, firstAt + this.#busyMs);
    }
}
