import { OvsdbError } from "../codec/error.ts";

export interface EchoProbeOptions {
    /** Silence after which an echo is asked for. */
    readonly echoIntervalMs: number;
    /** Silence after that until the peer counts as gone. */
    readonly answerTimeoutMs: number;
}

export interface EchoProbeActions {
    readonly send: () => void;
    readonly fail: (error: OvsdbError) => void;
}

/** Watches that the peer says something, anything, from time to time (RFC 7047 section 4.1.11). */
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

    /** The peer said something. Called for every chunk, so it does not touch the timer. */
    heard(): void {
        this.#heardAt = performance.now();
        this.#asked = false;
    }

    stop(): void {
        this.#stopped = true;
        clearTimeout(this.#timer);
    }

    #wait(ms: number): void {
        // Bytes that came while this program was busy are read after the timers: look once they have been.
        this.#timer = setTimeout(() => setImmediate(() => this.#look()), ms);
    }

    #look(): void {
        if (this.#stopped) return;
        const { echoIntervalMs, answerTimeoutMs } = this.#options;
        const silentMs = performance.now() - this.#heardAt;
        if (this.#asked) {
            const message = `the database said nothing for ${Math.round(silentMs)} ms and did not answer an echo`;
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
