/** Parameters of exponential backoff. All times are in milliseconds. */
export interface BackoffOptions {
    /** The first delay. Default 200. */
    readonly initialMs?: number;
    /** Upper limit of every delay, jitter included. Default 30,000. */
    readonly maxMs?: number;
    /** Factor by which each delay exceeds the one before. Default 2. */
    readonly factor?: number;
    /** Share of a delay by which it is randomly shortened or lengthened, evenly distributed. Default 0.2. */
    readonly jitter?: number;
    /** Source of random numbers in [0, 1). Default `Math.random`. */
    readonly random?: () => number;
}

/**
 * Computes the delays of an exponential backoff with jitter; the caller waits. They grow from `initialMs` to `maxMs`
 * and start again at `initialMs` after `reset`.
 */
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

    /** Returns the delay before the next attempt in milliseconds, and counts the attempt. */
    next(): number {
        const { initialMs, maxMs, factor, jitter, random } = this.#options;
        const plain = Math.min(initialMs * factor ** this.#tries, maxMs);
        this.#tries += 1;
        return Math.min(Math.round(plain * (1 + jitter * (2 * random() - 1))), maxMs);
    }

    /**
     * Returns the delay in milliseconds before the next connection attempt. It is 0 after a connection that lasted at
     * least `maxMs`, which resets the backoff; so a server that accepts connections and closes them at once is retried
     * as slowly as one that does not answer.
     *
     * @param stoodMs how long the last connection lasted; 0 if there was none
     */
    nextAfter(stoodMs: number): number {
        if (stoodMs < this.#options.maxMs) return this.next();
        this.reset();
        return 0;
    }

    /** Restarts with the first delay. Call it after a success. */
    reset(): void {
        this.#tries = 0;
    }
}
