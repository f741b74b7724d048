const maxXid = 0xffffffff;

/**
 * Transaction ids: from 1, each used once until 32 bits are exhausted, then from 1 again. The switch uses 0 for
 * messages that are no answer.
 */
export class Xids {
    #next: number;

    constructor(first = 1) {
        this.#next = first;
    }

    /** Takes `count` consecutive ids, across which the numbers never begin anew, and returns the first. */
    take(count: number): number {
        if (this.#next + count - 1 > maxXid) this.#next = 1;
        const first = this.#next;
        this.#next += count;
        return first;
    }
}
