/**
 * Who has which address, by the answers of a plugin alone: an address that is given to a second container while a first
 * one has it is a duplicate, whatever the plugin's own store says.
 */
export class AddressBook {
    readonly #holders = new Map<string, number>();
    readonly #duplicates: string[] = [];

    /** An ADD of the container was answered with these addresses, with or without a prefix length. */
    given(container: number, addresses: readonly string[]): void {
        for (const address of addresses.map(withoutLength)) {
            const holder = this.#holders.get(address);
            if (holder !== undefined && holder !== container) this.#duplicates.push(address);
            this.#holders.set(address, container);
        }
    }

    /** From now on its addresses may be given to others: its DEL begins, or it is gone without one. */
    ended(container: number): void {
        for (const [address, holder] of this.#holders) if (holder === container) this.#holders.delete(address);
    }

    /** Addresses that are held now. */
    get size(): number {
        return this.#holders.size;
    }

    /** Every address that was given a second time, as often as that happened. */
    get duplicates(): readonly string[] {
        return this.#duplicates;
    }
}

function withoutLength(address: string): string {
    return address.replace(/\/.*$/, "");
}
