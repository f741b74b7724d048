import { type Clock } from "@antrea/async";

/**
 * Decides how thorough the next run is. After a change of a Node it is enough to write what changed; a full look compares
 * all with the kernel. Full looks are due in time however many changes come, and one that was asked for is made even if
 * changes come with it.
 */
export class LookPlan {
    readonly #clock: Pick<Clock, "monotonic">;
    readonly #everyMs: number;
    #isAskedFor = true;
    #lastMs = -Infinity;

    /** @param everyMs a full look is due so long after the last one */
    constructor(components: { readonly clock: Pick<Clock, "monotonic"> }, options: { readonly everyMs: number }) {
        this.#clock = components.clock;
        this.#everyMs = options.everyMs;
    }

    /** Something may not be as it was left: the next run must be a full look. */
    askForFull(): void {
        this.#isAskedFor = true;
    }

    /** Runs one of the two. A full look that fails is still due. */
    async run(looks: { readonly full: () => Promise<void>; readonly update: () => Promise<void> }): Promise<void> {
        const startedMs = this.#clock.monotonic();
        if (!this.#isAskedFor && startedMs - this.#lastMs < this.#everyMs) return looks.update();
        // What is asked for meanwhile is asked of the run after this one.
        this.#isAskedFor = false;
        try {
            await looks.full();
        } catch (error) {
            this.#isAskedFor = true;
            throw error;
        }
        this.#lastMs = startedMs;
    }
}
