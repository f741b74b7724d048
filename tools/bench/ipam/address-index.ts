/**
 * Which container has which address, by the answers of a plugin alone: an address that is assigned to a second
 * container while a first one has it is a duplicate, whatever the plugin's own store contains.
 */
export class AddressIndex {
    readonly #holders = new Map<string, number>();
    readonly #duplicates: string[] = [];

    /** Records the result of an ADD: these addresses, with or without prefix length. */
    given(container: number, addresses: readonly string[]): void {
        for (const address of addresses.map(withoutLength)) {
            const holder = this.#holders.get(address);
            if (holder !== undefined && holder !== container) this.#duplicates.push(address);
            this.#holders.set(address, container);
        }
    }

    /** From now on its addresses may be reassigned: its DEL begins, or it vanished. */
    ended(container: number): void {
        for (const [address, holder] of this.#holders) if (holder === container) this.#holders.delete(address);
    }

    /** Number of addresses in use. */
    get size(): number {
        return this.#holders.size;
    }

    /** Every address that was assigned twice, once per occurrence. */
    get duplicates(): readonly string[] {
        return this.#duplicates;
    }
}

function withoutLength(address: string): string {
    return address.replace(/\/.*$/, "");
}
