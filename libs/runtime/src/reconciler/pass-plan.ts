import type { Clock } from "@antrea/async";

/**
 * Decides whether the next pass is a full one: the first, the one due `everyMs` after the start of the last that
 * succeeded, and those requested; whatever other changes there are. `run` calls its function only in these.
 */
export class PassPlan {
    readonly #clock: Pick<Clock, "monotonic">;
    readonly #everyMs: number;
    #isAskedFor = true;
    #lastMs = -Infinity;

    /** @param everyMs milliseconds after the start of the last full pass at which the next one is due */
    constructor(components: { readonly clock: Pick<Clock, "monotonic"> }, options: { readonly everyMs: number }) {
        this.#clock = components.clock;
        this.#everyMs = options.everyMs;
    }

    /** Makes the next pass a full one. */
    askForFull(): void {
        this.#isAskedFor = true;
    }

    /**
     * Runs `full` if a full pass is due. If it rejects, so does this, and the full pass remains due; one requested
     * meanwhile is the next. Not for concurrent calls.
     */
    async run(full: () => Promise<void>): Promise<void> {
        const startedMs = this.#clock.monotonic();
        if (!this.#isAskedFor && startedMs - this.#lastMs < this.#everyMs) return;
        this.#isAskedFor = false;
        try {
            await full();
        } catch (error) {
            this.#isAskedFor = true;
            throw error;
        }
        this.#lastMs = startedMs;
    }
}
