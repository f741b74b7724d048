import { prefixesOverlap, prefixOf, type Prefix } from "@antrea/ip";

/**
 * Which owner (a name) has which prefixes, of both families, to find overlaps. Almost all prefixes have the same
 * length, so that a lookup by length and base finds them; only a wider prefix is compared with each.
 */
export class Owners {
    readonly #byLength = new Map<string, Map<bigint, Set<string>>>();

    /** Records that the owner has the prefix; once, however often it is called. */
    add(owner: string, prefix: Prefix): void {
        const key = lengthKey(prefix);
        const bases = this.#byLength.get(key) ?? new Map<bigint, Set<string>>();
        this.#byLength.set(key, bases);
        const owners = bases.get(prefix.base) ?? new Set();
        bases.set(prefix.base, owners.add(owner));
    }

    /** Reverts `add`, however often it was called; no effect on an unknown prefix. */
    remove(owner: string, prefix: Prefix): void {
        const key = lengthKey(prefix);
        const bases = this.#byLength.get(key);
        const owners = bases?.get(prefix.base);
        owners?.delete(owner);
        if (owners?.size === 0) bases?.delete(prefix.base);
        if (bases?.size === 0) this.#byLength.delete(key);
    }

    /** All owners, other than this one, of a prefix of the same family that overlaps this one. */
    overlapping(owner: string, prefix: Prefix): ReadonlySet<string> {
        const found = new Set<string>();
        for (const [key, bases] of this.#byLength) {
            const [family, length] = key.split("/").map(Number);
            if (family !== prefix.family || length === undefined) continue;
            if (length <= prefix.length) {
                const wide = prefixOf({ family: prefix.family, value: prefix.base }, length);
                for (const other of bases.get(wide.base) ?? []) found.add(other);
                continue;
            }
            for (const [base, others] of bases) {
                if (!prefixesOverlap(prefix, { family: prefix.family, base, length })) continue;
                for (const other of others) found.add(other);
            }
        }
        found.delete(owner);
        return found;
    }
}

function lengthKey(prefix: Prefix): string {
    return `${prefix.family}/${prefix.length}`;
}
