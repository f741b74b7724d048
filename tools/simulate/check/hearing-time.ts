/**
 * For how long an agent has been able to hear, in one start of it: a start that ended, or that something kept from hearing
 * meanwhile, may not have heard.
 */
export class HearingTime {
    #agent: object | undefined;
    #ms = 0;

    get ms(): number {
        return this.#ms;
    }

    /**
     * To be called at each look.
     *
     * @param agent the present start of it; undefined when something keeps it from hearing
     * @param sinceMs since the look before
     */
    look(agent: object | undefined, sinceMs: number): void {
        this.#ms = agent !== undefined && agent === this.#agent ? this.#ms + sinceMs : 0;
        this.#agent = agent;
    }
}
