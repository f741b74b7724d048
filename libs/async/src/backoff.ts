/** The growth of the delays between tries. */
export interface BackoffOptions {
    /** The first delay in milliseconds. Default 200. */
    readonly initialMs?: number;
    /** No delay is longer, jitter included, in milliseconds. Default 30,000. */
    readonly maxMs?: number;
    /** Each delay is the one before times this. Default 2. */
    readonly factor?: number;
    /** A delay is spread evenly by up to this share of itself, both ways. Default 0.2. */
    readonly jitter?: number;
    /** Numbers from 0 to below 1. Default `Math.random`. */
    readonly random?: () => number;
}

/** Delays that grow from try to try and start anew after a success. */
export class Backoff {
    readonly #options: Required<BackoffOptions>;
    #tries = 0;

    constructor(options: BackoffOptions = {}) {
        this.#options = {
            initialMs: options.initialMs ?? 200,
            maxMs: options.maxMs ?? 30_000,
            factor: options.factor ?? 2,
            jitter: options.jitter ?? 0.2,
            random: options.random ?? Math.random,
        };
    }

    /** How often `next` was called since the last reset. */
    get tries(): number {
        return this.#tries;
    }

    /** The milliseconds to wait before the next try. */
    next(): number {
        const { initialMs, maxMs, factor, jitter, random } = this.#options;
        const plain = Math.min(initialMs * factor ** this.#tries, maxMs);
        this.#tries += 1;
        return Math.min(Math.round(plain * (1 + jitter * (2 * random() - 1))), maxMs);
    }

    /**
     * The milliseconds to wait before the next connection: none after one that stood as long as the longest delay, so
     * that a server that accepts and hangs up at once is waited for like one that is away.
     *
     * @param stoodMs how long the connection that ended stood; 0: never
     */
    nextAfter(stoodMs: number): number {
        if (stoodMs < this.#options.maxMs) return this.next();
        this.reset();
        return 0;
    }

    /** Starts anew: call it after a success. */
    reset(): void {
        this.#tries = 0;
    }
}
