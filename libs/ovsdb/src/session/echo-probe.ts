import { OvsdbError } from "../codec/error.ts";

/** Intervals of an `EchoProbe`, in milliseconds. */
export interface EchoProbeOptions {
    /** Time without a received byte after which an echo request is sent. */
    readonly echoIntervalMs: number;
    /** Time without a received byte after the request until the connection fails. */
    readonly answerTimeoutMs: number;
}

/** Actions of an `EchoProbe`: `send` sends an echo request; `fail` ends the connection and is called at most once. */
export interface EchoProbeActions {
    readonly send: () => void;
    readonly fail: (error: OvsdbError) => void;
}

/**
 * Checks that the other end of a connection still sends (RFC 7047 section 4.1.11), from construction until `stop`. Any
 * received byte counts (`heard`); without one an echo is requested, and if nothing comes then either, `fail` is called
 * with `DISCONNECTED` (fault `timeout`).
 */
export class EchoProbe {
    readonly #options: EchoProbeOptions;
    readonly #actions: EchoProbeActions;
    #timer: NodeJS.Timeout | undefined;
    #heardAt = performance.now();
    #asked = false;
    #stopped = false;

    constructor(options: EchoProbeOptions, actions: EchoProbeActions) {
        this.#options = options;
        this.#actions = actions;
        this.#wait(options.echoIntervalMs);
    }

    /** Must be called for each received chunk, so it does not touch the timer. */
    heard(): void {
        this.#heardAt = performance.now();
        this.#asked = false;
    }

    /** Ends the checks: no action is called after it. Idempotent. */
    stop(): void {
        this.#stopped = true;
        clearTimeout(this.#timer);
    }

    #wait(ms: number): void {
        // Bytes that arrived while this program was busy are read after the timers: check after they have been read.
        this.#timer = setTimeout(() => setImmediate(() => this.#check()), ms);
    }

    #check(): void {
        if (this.#stopped) return;
        const { echoIntervalMs, answerTimeoutMs } = this.#options;
        const silentMs = performance.now() - this.#heardAt;
        if (this.#asked) {
            const message = `the database sent nothing for ${Math.round(silentMs)} ms and did not answer an echo`;
            this.#actions.fail(new OvsdbError("DISCONNECTED", "timeout", message, { details: { silentMs } }));
        } else if (silentMs < echoIntervalMs) {
            this.#wait(echoIntervalMs - silentMs);
        } else {
            this.#asked = true;
            this.#wait(answerTimeoutMs);
            this.#actions.send();
        }
    }
}
