interface Reading<T> {
    /** The read after this one, for those who asked after it began. */
    next: PromiseWithResolvers<T> | undefined;
}

/**
 * Reads objects by name for many callers at once: each gets the result of a read that began after its call, and those who
 * call while a read is under way share the next one. One read of a name at a time.
 */
export class SharedReads<T> {
    readonly #read: (name: string) => Promise<T>;
    readonly #readings = new Map<string, Reading<T>>();

    constructor(read: (name: string) => Promise<T>) {
        this.#read = read;
    }

    /** Resolves or rejects as the read does. */
    get(name: string): Promise<T> {
        const reading = this.#readings.get(name);
        if (reading === undefined) return this.#begin(name);
        reading.next ??= Promise.withResolvers<T>();
        return reading.next.promise;
    }

    #begin(name: string): Promise<T> {
        const reading: Reading<T> = { next: undefined };
        this.#readings.set(name, reading);
        const result = this.#read(name);
        const ended = (): void => {
            this.#readings.delete(name);
            reading.next?.resolve(this.#begin(name));
        };
        result.then(ended, ended);
        return result;
    }
}
