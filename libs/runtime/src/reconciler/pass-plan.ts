import type { Clock } from "@antrea/async";

/**
 * Decides whether the next pass is a full one. Full passes are due in time however many changes come, and one that was
 * asked for is made even if changes come with it. The first is always full.
 */
export class PassPlan {
    readonly #clock: Pick<Clock, "monotonic">;
    readonly #everyMs: number;
    #isAskedFor = true;
    #lastMs = -Infinity;

    /** @param everyMs a full pass is due so long after the last one began */
    constructor(components: { readonly clock: Pick<Clock, "monotonic"> }, options: { readonly everyMs: number }) {
        this.#clock = components.clock;
        this.#everyMs = options.everyMs;
    }

    askForFull(): void {
        this.#isAskedFor = true;
    }

    /** Runs `full` if a full pass is due. One that rejects is still due; one asked for meanwhile is the next. */
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
