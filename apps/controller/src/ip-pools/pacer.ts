import { type Clock } from "@antrea/runtime";

export interface PacerOptions {
    /** A key is due when nothing changed for this long. Default 1200. */
    readonly quietMs?: number;
    /** A key that does not come to rest is due this often. Default 5000. */
    readonly busyMs?: number;
}

/**
 * Says when keys that change are worth looking at: soon after they came to rest, and now and then while they do not.
 */
export class Pacer {
    readonly #clock: Pick<Clock, "monotonic">;
    readonly #quietMs: number;
    readonly #busyMs: number;
    readonly #waiting = new Map<string, { readonly firstAt: number; lastAt: number }>();

    constructor(components: { readonly clock: Pick<Clock, "monotonic"> }, options: PacerOptions = {}) {
        this.#clock = components.clock;
        this.#quietMs = options.quietMs ?? 1_200;
        this.#busyMs = options.busyMs ?? 5_000;
    }

    changed(key: string): void {
        const now = this.#clock.monotonic();
        const pace = this.#waiting.get(key);
        if (pace === undefined) this.#waiting.set(key, { firstAt: now, lastAt: now });
        else pace.lastAt = now;
    }

    /** The keys that are due now; each is given once. */
    take(): readonly string[] {
        const now = this.#clock.monotonic();
        const due: string[] = [];
        for (const [key, { firstAt, lastAt }] of this.#waiting) {
            if (now < Math.min(lastAt + this.#quietMs, firstAt + this.#busyMs)) continue;
            this.#waiting.delete(key);
            due.push(key);
        }
        return due;
    }
}
