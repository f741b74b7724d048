const maxXid = 0xffffffff;

/** Transaction ids: from 1, each used once until 32 bits are through. 0 is left to what the switch sends unasked. */
export class Xids {
    #next: number;

    constructor(first = 1) {
        this.#next = first;
    }

    /** The first of `count` ids in a row. */
    take(count: number): number {
        if (this.#next + count - 1 > maxXid) this.#next = 1;
        const first = this.#next;
        this.#next += count;
        return first;
    }
}
