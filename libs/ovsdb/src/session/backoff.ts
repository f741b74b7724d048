export interface BackoffOptions {
    readonly minBackoffMs: number;
    readonly maxBackoffMs: number;
}

/** How long to wait between one connection and the next attempt. */
export class Backoff {
    readonly #options: BackoffOptions;
    #failures = 0;

    constructor(options: BackoffOptions) {
        this.#options = options;
    }

    /**
     * The pause in ms: none after a connection that lasted, else doubled each time from least to greatest. A server
     * that accepts and hangs up at once is waited for like one that is away.
     *
     * @param readyMs how long the connection that ended was ready; 0: never
     */
    next(readyMs: number): number {
        const { minBackoffMs, maxBackoffMs } = this.#options;
        if (readyMs >= maxBackoffMs) {
            this.#failures = 0;
            return 0;
        }
        return Math.min(minBackoffMs * 2 ** this.#failures++, maxBackoffMs);
    }
}
