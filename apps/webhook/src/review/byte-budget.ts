/** Limits the bytes of request bodies that are in memory together. */
export class ByteBudget {
    readonly #limit: number;
    #taken = 0;

    constructor(limit: number) {
        this.#limit = limit;
    }

    /** Takes these bytes until disposal; undefined if they exceed the limit. */
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
