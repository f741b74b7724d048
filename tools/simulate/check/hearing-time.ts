/**
 * How long an agent has been able to receive changes in one start: a start that ended, or that was interrupted, may
 * not have received them.
 */
export class HearingTime {
    #agent: object | undefined;
    #ms = 0;

    get ms(): number {
        return this.#ms;
    }

    /**
     * Called at each check.
     *
     * @param agent the current start of the agent; undefined if something prevents it from receiving changes
     * @param sinceMs time since the previous check
     */
    update(agent: object | undefined, sinceMs: number): void {
        this.#ms = agent !== undefined && agent === this.#agent ? this.#ms + sinceMs : 0;
        this.#agent = agent;
    }
}
