import { formatIp, type IpAddress } from "@antrea/ip";

/**
 * Finds entries by address. Several may have one, e.g. while it moves from one Pod to another. Entries are compared by
 * identity.
 */
export class AddressIndex<T> {
    readonly #byAddress = new Map<string, Set<T>>();

    /** The entries with the address, in the order in which they got it. */
    with(ip: IpAddress): readonly T[] {
        return [...(this.#byAddress.get(formatIp(ip)) ?? [])];
    }

    /**
     * Replaces the addresses of an entry: `before` are those of the last call for it ([] for a new one), `after` the
     * new ones ([] removes it).
     */
    move(entry: T, before: readonly IpAddress[], after: readonly IpAddress[]): void {
        const wanted = new Set(after.map(formatIp));
        for (const ip of before) {
            const text = formatIp(ip);
            if (!wanted.has(text)) this.#remove(text, entry);
        }
        for (const text of wanted) {
            const entries = this.#byAddress.get(text);
            if (entries === undefined) this.#byAddress.set(text, new Set([entry]));
            else entries.add(entry);
        }
    }

    #remove(text: string, entry: T): void {
        const entries = this.#byAddress.get(text);
        entries?.delete(entry);
        if (entries?.size === 0) this.#byAddress.delete(text);
    }
}
