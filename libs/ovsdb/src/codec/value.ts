/** A reference to a row, by its UUID in lower-case text (RFC 7047 section 5.1, <uuid>). */
export interface Uuid {
    readonly uuid: string;
}

/** A reference to a row that the same transaction inserts under this name (RFC 7047 section 5.1, <named-uuid>). */
export interface NamedUuid {
    readonly named: string;
}

/**
 * RFC 7047 section 5.1, <atom>. Integers beyond 2^53 - 1, which OVSDB allows, are read as the nearest number and
 * refused when written.
 */
export type Atom = string | number | boolean | Uuid;

/**
 * What a column holds. A column of exactly one element is that atom; every other column, also an optional one, is an
 * array in canonical order (`[]`: not set); a map column is a Map in canonical order of its keys.
 */
export type Value = Atom | readonly Atom[] | ReadonlyMap<Atom, Atom>;

/** The monitored or selected columns of one row. Frozen: a change makes a new row. */
export type Row = Readonly<Record<string, Value>>;

/** An atom that can be written. */
export type InputAtom = Atom | NamedUuid;

/** What can be written to a column; every `Value` that was read can be written back. */
export type InputValue = InputAtom | readonly InputAtom[] | ReadonlyMap<InputAtom, InputAtom>;

/** Columns to write; those not named keep their value, or get their default in an insert. */
export type InputRow = Readonly<Record<string, InputValue>>;

/** Refers to the row that this transaction inserts with this `uuidName`. */
export function named(uuidName: string): NamedUuid {
    return { named: uuidName };
}

/** Refers to a row by its UUID. */
export function uuid(text: string): Uuid {
    return { uuid: text };
}

/** The value of a set column. */
export function set(...atoms: readonly InputAtom[]): readonly InputAtom[] {
    return atoms;
}

/** The value of a map column, from an object with text keys or from pairs. */
export function map(
    entries: Readonly<Record<string, InputAtom>> | Iterable<readonly [InputAtom, InputAtom]>,
): ReadonlyMap<InputAtom, InputAtom> {
    return new Map<InputAtom, InputAtom>(Symbol.iterator in entries ? entries : Object.entries(entries));
}

export function isUuid(value: unknown): value is Uuid {
    return typeof value === "object" && value !== null && "uuid" in value;
}

export function isNamedUuid(value: unknown): value is NamedUuid {
    return typeof value === "object" && value !== null && "named" in value;
}

/** True for a map value; by shape, because a Map may come from another realm (a vm context). */
export function isMap<K, V>(value: unknown): value is ReadonlyMap<K, V> {
    return typeof value === "object" && value !== null && "entries" in value && "get" in value && "has" in value;
}
