import { isMap, isUuid, type Atom, type Row, type Value } from "./value.ts";

/** The order of sets and map keys: numbers by size, all else by text. Only atoms of one type are compared. */
export function compareAtoms(a: Atom, b: Atom): number {
    const [left, right] = [plain(a), plain(b)];
    if (left === right) return 0;
    return left < right ? -1 : 1;
}

export function sameAtom(a: Atom, b: Atom): boolean {
    return plain(a) === plain(b);
}

/** Something that a Map can find again: a UUID's text, or the atom itself. Atoms of one column are of one type. */
export function plain(atom: Atom): string | number | boolean {
    return isUuid(atom) ? atom.uuid : atom;
}

/** True for equal values of one column; both must be in canonical order, as all values that were read are. */
export function sameValue(a: Value, b: Value): boolean {
    if (isMap<Atom, Atom>(a) && isMap<Atom, Atom>(b)) {
        return sameList([...a.keys()], [...b.keys()]) && sameList([...a.values()], [...b.values()]);
    }
    if (isList(a) && isList(b)) return sameList(a, b);
    return !isMap(a) && !isMap(b) && !isList(a) && !isList(b) && sameAtom(a, b);
}

export function sameRow(a: Row, b: Row): boolean {
    const columns = Object.keys(a);
    if (columns.length !== Object.keys(b).length) return false;
    return columns.every((column) => {
        const [left, right] = [a[column], b[column]];
        return left !== undefined && right !== undefined && sameValue(left, right);
    });
}

/** `Array.isArray` narrows a readonly array away. */
export function isList<T>(value: Value | readonly T[]): value is readonly T[] & readonly Atom[] {
    return Array.isArray(value);
}

function sameList(a: readonly Atom[], b: readonly Atom[]): boolean {
    return a.length === b.length && a.every((atom, index) => sameAtom(atom, b[index] as Atom));
}
