/** Names by a key that several of them have, in the order in which they were added. */
export class NameIndex {
    readonly #names = new Map<string, Set<string>>();

    /** The names of a key. */
    get(key: string): readonly string[] {
        return [...(this.#names.get(key) ?? [])];
    }

    /** Adds a name of a key; no effect if it is there. */
    add(key: string, name: string): void {
        const names = this.#names.get(key);
        if (names === undefined) this.#names.set(key, new Set([name]));
        else names.add(name);
    }

    /** Removes a name of a key; no effect if it is not there. */
    delete(key: string, name: string): void {
        const names = this.#names.get(key);
        names?.delete(name);
        if (names?.size === 0) this.#names.delete(key);
    }
}
