import { type ColumnType } from "./schema.ts";
import { isMap, type Atom, type Value } from "./value.ts";
import { compareAtoms, isList, plain, sameAtom } from "./value-order.ts";

/**
 * The new value of a column from the old one and the difference of an update2 (ovsdb-server(7) section 4.1.14): a
 * column of at most one element is replaced; elements of a set are removed if present, else added; a pair of a map is
 * removed if present with this value, else added or replaced. Both values must be in canonical order, as the result is.
 */
export function applyDifference(old: Value, difference: Value, type: ColumnType): Value {
    if (type.max <= 1) return difference;
    if (isMap<Atom, Atom>(old) && isMap<Atom, Atom>(difference)) return applyToMap(old, difference);
    if (isList(old) && isList(difference)) return applyToSet(old, difference);
    return difference;
}

function applyToSet(old: readonly Atom[], difference: readonly Atom[]): readonly Atom[] {
    const atoms = new Map(old.map((atom) => [plain(atom), atom]));
    for (const atom of difference) if (!atoms.delete(plain(atom))) atoms.set(plain(atom), atom);
    return Object.freeze([...atoms.values()].sort(compareAtoms));
}

function applyToMap(old: ReadonlyMap<Atom, Atom>, difference: ReadonlyMap<Atom, Atom>): ReadonlyMap<Atom, Atom> {
    const pairs = new Map(Array.from(old, (pair) => [plain(pair[0]), pair]));
    for (const pair of difference) {
        const there = pairs.get(plain(pair[0]));
        if (there !== undefined && sameAtom(there[1], pair[1])) pairs.delete(plain(pair[0]));
        else pairs.set(plain(pair[0]), pair);
    }
    return new Map([...pairs.values()].sort(([a], [b]) => compareAtoms(a, b)));
}
