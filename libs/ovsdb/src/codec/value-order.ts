import { isMap, isUuid, type Atom, type Row, type Value } from "./value.ts";

/**
 * Order of set elements and map keys, for `Array.sort`: numbers by value, false before true, strings and UUIDs by
 * UTF-16 code units. Both atoms must be of one type.
 */
export function compareAtoms(a: Atom, b: Atom): number {
    const [left, right] = [plain(a), plain(b)];
    if (left === right) return 0;
    return left < right ? -1 : 1;
}

/** True for equal atoms of one type; references are equal when their UUIDs are. */
export function sameAtom(a: Atom, b: Atom): boolean {
    return plain(a) === plain(b);
}

/** A key for a JavaScript Map: the text of a UUID, or the atom itself. The atoms of one column are of one type. */
export function plain(atom: Atom): string | number | boolean {
    return isUuid(atom) ? atom.uuid : atom;
}

/** True for equal values of one column; both must be in canonical order, as all decoded values are. */
export function sameValue(a: Value, b: Value): boolean {
    if (isMap<Atom, Atom>(a) && isMap<Atom, Atom>(b)) {
        return sameList([...a.keys()], [...b.keys()]) && sameList([...a.values()], [...b.values()]);
    }
    if (isList(a) && isList(b)) return sameList(a, b);
    return !isMap(a) && !isMap(b) && !isList(a) && !isList(b) && sameAtom(a, b);
}

/** True for rows with the same columns and equal values (see `sameValue`). */
export function sameRow(a: Row, b: Row): boolean {
    const columns = Object.keys(a);
    if (columns.length !== Object.keys(b).length) return false;
    return columns.every((column) => {
        const [left, right] = [a[column], b[column]];
        return left !== undefined && right !== undefined && sameValue(left, right);
    });
}

/** True for the value of a set column; a type guard, since `Array.isArray` does not narrow a readonly array. */
export function isList<T>(value: Value | readonly T[]): value is readonly T[] & readonly Atom[] {
    return Array.isArray(value);
}

function sameList(a: readonly Atom[], b: readonly Atom[]): boolean {
    return a.length === b.length && a.every((atom, index) => sameAtom(atom, b[index] as Atom));
}
