import { OvsdbError } from "./error.ts";
import { show } from "./reader.ts";
import { isMap, isUuid, type Atom, type Row, type Value } from "./value.ts";
import { isList } from "./value-order.ts";

/*
 * Typed access to the columns of a row. Each function throws OvsdbError `BAD_ARGUMENT` when the row has no such column
 * (it is not monitored) or the column is of another type.
 */

/** The string in a column of one string. @throws OvsdbError `BAD_ARGUMENT` for a missing column or another type */
export function textOf(row: Row, column: string): string {
    return text(valueOf(row, column), column);
}

/**
 * The number in a column of one integer or real. @throws OvsdbError `BAD_ARGUMENT` for a missing column or another type
 */
export function numberOf(row: Row, column: string): number {
    return number(valueOf(row, column), column);
}

/**
 * The string in a column of at most one; undefined when it is not set.
 *
 * @throws OvsdbError `BAD_ARGUMENT` for a missing column, another type or several elements
 */
export function optionalTextOf(row: Row, column: string): string | undefined {
    const atom = first(row, column);
    return atom === undefined ? undefined : text(atom, column);
}

/**
 * The number in a column of at most one integer or real; undefined when it is not set.
 *
 * @throws OvsdbError `BAD_ARGUMENT` for a missing column, another type or several elements
 */
export function optionalNumberOf(row: Row, column: string): number | undefined {
    const atom = first(row, column);
    return atom === undefined ? undefined : number(atom, column);
}

/**
 * The UUIDs of the rows that a column of one reference, an optional one or a set refers to.
 *
 * @throws OvsdbError `BAD_ARGUMENT` for a missing column or another type
 */
export function referencesOf(row: Row, column: string): readonly string[] {
    const value = valueOf(row, column);
    const atoms = isList(value) ? value : [value];
    return atoms.map((atom) => {
        if (!isUuid(atom)) throw wrongType(column, "references to rows", value);
        return atom.uuid;
    });
}

/**
 * The map in a column of strings to strings, such as `external_ids`.
 *
 * @throws OvsdbError `BAD_ARGUMENT` for a missing column or another type
 */
export function textMapOf(row: Row, column: string): ReadonlyMap<string, string> {
    const value = valueOf(row, column);
    if (!isTextMap(value)) throw wrongType(column, "a map of strings", value);
    return value;
}

/**
 * The string of one key in a column of strings to strings; undefined without the key. Reads no other entry, unlike
 * `textMapOf`, for searches among thousands of rows.
 *
 * @throws OvsdbError `BAD_ARGUMENT` for a missing column or another type
 */
export function textEntryOf(row: Row, column: string, key: string): string | undefined {
    const value = valueOf(row, column);
    const entry = isMap<Atom, Atom>(value) ? value.get(key) : null;
    if (entry !== undefined && typeof entry !== "string") throw wrongType(column, "a map of strings", value);
    return entry;
}

function isTextMap(value: Value): value is ReadonlyMap<string, string> {
    if (!isMap<Atom, Atom>(value)) return false;
    for (const key of value.keys()) if (typeof key !== "string") return false;
    for (const entry of value.values()) if (typeof entry !== "string") return false;
    return true;
}

function first(row: Row, column: string): Atom | undefined {
    const value = valueOf(row, column);
    if (!isList(value) || value.length > 1) throw wrongType(column, "an optional value", value);
    return value[0];
}

function valueOf(row: Row, column: string): Value {
    const value = Object.hasOwn(row, column) ? row[column] : undefined;
    if (value === undefined) {
        const message = `the row has no column ${column}: add it to the monitored or selected columns`;
        throw new OvsdbError("BAD_ARGUMENT", "caller", message, { details: { column } });
    }
    return value;
}

function text(value: Value, column: string): string {
    if (typeof value !== "string") throw wrongType(column, "a string", value);
    return value;
}

function number(value: Value, column: string): number {
    if (typeof value !== "number") throw wrongType(column, "a number", value);
    return value;
}

function wrongType(column: string, wanted: string, value: Value): OvsdbError {
    const shown = isMap<Atom, Atom>(value) ? "a map" : show(value);
    return new OvsdbError("BAD_ARGUMENT", "caller", `column ${column} is not ${wanted}: it is ${shown}`, {
        details: { column },
    });
}
