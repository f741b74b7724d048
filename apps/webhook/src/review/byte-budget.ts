/** How many bytes of request bodies may be in memory at once. */
export class ByteBudget {
    readonly #limit: number;
    #taken = 0;

    constructor(limit: number) {
        this.#limit = limit;
    }

    /** Takes these bytes until disposal; undefined when they do not fit. */
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
