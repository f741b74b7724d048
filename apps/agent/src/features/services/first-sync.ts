/** Knows when OVS has all Services for the first time, or has refused them: then those of an earlier start can go. */
export class FirstSync {
    readonly #listeners: (() => void)[] = [];
    /** Undefined until the Services are known. */
    #left: Set<string> | undefined;

    /** Whether that is so. */
    get isComplete(): boolean {
        return this.#left?.size === 0;
    }

    /** To be called once, with all Services that are to be served. */
    begin(keys: readonly string[]): void {
        this.#left = new Set(keys);
        this.#notify();
    }

    /** OVS has this Service, or has refused it. */
    tried(key: string): void {
        if (this.#left?.delete(key) === true) this.#notify();
    }

    /** Registers a listener, for good, that is called once. */
    onComplete(listener: () => void): void {
        this.#listeners.push(listener);
    }

    #notify(): void {
        if (this.isComplete) for (const listener of this.#listeners.splice(0)) listener();
    }
}
