import type { Logger } from "@antrea/runtime";

const againMs = 600_000;
/** A Node has one or two configurations of this plugin; older entries are dropped. */
const maxConfigurations = 8;

interface Failure {
    readonly reason: string;
    readonly loggedAt: number;
}

/**
 * Logs failures of STATUS, which the runtime calls every 5 s: each result that differs from the previous one for the
 * same network configuration, and an unchanged failure every ten minutes.
 */
export class StatusLog {
    readonly #components: { readonly logger: Logger; readonly now: () => number };
    /** By network configuration, most recent last: its last result if that was a failure. */
    readonly #failures = new Map<string, Failure>();

    /** @param components `now` is a monotonic clock in milliseconds */
    constructor(components: { readonly logger: Logger; readonly now: () => number }) {
        this.#components = components;
    }

    /**
     * Logs a failure as a warning with the fields, unless the same reason was logged for this configuration within ten
     * minutes.
     *
     * @param configuration the network configuration as passed to the call, compared by its bytes
     */
    failed(configuration: Uint8Array, reason: string, fields: Readonly<Record<string, unknown>>): void {
        const key = keyOf(configuration);
        const last = this.#failures.get(key);
        const now = this.#components.now();
        const isNews = last?.reason !== reason || now - last.loggedAt >= againMs;
        if (isNews) this.#components.logger.warn("CNI call failed", fields);
        this.#failures.delete(key);
        this.#failures.set(key, isNews ? { reason, loggedAt: now } : last);
        const [oldest] = this.#failures.keys();
        if (this.#failures.size > maxConfigurations && oldest !== undefined) this.#failures.delete(oldest);
    }

    /** Logs a success that follows a failure. */
    passed(configuration: Uint8Array): void {
        if (this.#failures.delete(keyOf(configuration))) this.#components.logger.info("CNI STATUS succeeds again");
    }
}

function keyOf(configuration: Uint8Array): string {
    return Buffer.from(configuration).toString("latin1");
}
