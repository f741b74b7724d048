/** Limits the bytes of request bodies that are in memory together, to the `limit` of the constructor. Does no I/O. */
export class ByteBudget {
    readonly #limit: number;
    #taken = 0;

    constructor(limit: number) {
        this.#limit = limit;
    }

    /**
     * Takes these bytes until disposal of the result, which may be repeated; undefined, and nothing taken, if they
     * exceed what is left.
     */
    take(bytes: number): Disposable | undefined {
        if (this.#taken + bytes > this.#limit) return undefined;
        this.#taken += bytes;
        let held = true;
        return {
            [Symbol.dispose]: () => {
                if (held) this.#taken -= bytes;
                held = false;
            },
        };
    }
}
