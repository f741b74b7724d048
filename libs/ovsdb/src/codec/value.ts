/** A reference to a row, by its UUID in lower-case text (RFC 7047 section 5.1, <uuid>). */
export interface Uuid {
    readonly uuid: string;
}

/** A reference to a row that the same transaction inserts under this name (RFC 7047 section 5.1, <named-uuid>). */
export interface NamedUuid {
    readonly named: string;
}

/**
 * RFC 7047 section 5.1, <atom>. Integers beyond 2^53 - 1, which OVSDB allows, are rounded when decoded and rejected
 * when encoded.
 */
export type Atom = string | number | boolean | Uuid;

/**
 * The value of a column. A column of exactly one element has that atom; every other column, also an optional one, has
 * an array in canonical order (`[]`: not set); a map column has a Map in canonical order of its keys.
 */
export type Value = Atom | readonly Atom[] | ReadonlyMap<Atom, Atom>;

/** The monitored or selected columns of one row, by name. Frozen: a change makes a new row. */
export type Row = Readonly<Record<string, Value>>;

/** An atom to write; `NamedUuid` refers to a row that the same transaction inserts. */
export type InputAtom = Atom | NamedUuid;

/** A value to write to a column; every decoded `Value` can be written back, except integers beyond 2^53 - 1. */
export type InputValue = InputAtom | readonly InputAtom[] | ReadonlyMap<InputAtom, InputAtom>;

/** Columns to write, by name; an update keeps the others, an insert gives them their default. */
export type InputRow = Readonly<Record<string, InputValue>>;

/** A reference to the row that the same transaction inserts with this `uuidName`. */
export function named(uuidName: string): NamedUuid {
    return { named: uuidName };
}

/** A reference to a row by its UUID in text, which is checked when it is encoded. */
export function uuid(text: string): Uuid {
    return { uuid: text };
}

/** The value of a set column with these elements, in any order; without any it is empty. */
export function set(...atoms: readonly InputAtom[]): readonly InputAtom[] {
    return atoms;
}

/**
 * The value of a map column, from an object with text keys or from pairs, in any order; of pairs with one key the last.
 */
export function map(
    entries: Readonly<Record<string, InputAtom>> | Iterable<readonly [InputAtom, InputAtom]>,
): ReadonlyMap<InputAtom, InputAtom> {
    return new Map<InputAtom, InputAtom>(Symbol.iterator in entries ? entries : Object.entries(entries));
}

/** True for a reference by UUID, judged by its shape. */
export function isUuid(value: unknown): value is Uuid {
    return typeof value === "object" && value !== null && "uuid" in value;
}

/** True for a reference by name, judged by its shape. */
export function isNamedUuid(value: unknown): value is NamedUuid {
    return typeof value === "object" && value !== null && "named" in value;
}

/** True for a map value, judged by its shape, because a Map may come from another realm (a vm context). */
export function isMap<K, V>(value: unknown): value is ReadonlyMap<K, V> {
    return typeof value === "object" && value !== null && "entries" in value && "get" in value && "has" in value;
}
