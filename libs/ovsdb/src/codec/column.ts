import { OvsdbError } from "./error.ts";
import { show } from "./reader.ts";
import { isMap, isUuid, type Atom, type Row, type Value } from "./value.ts";
import { isList } from "./value-order.ts";

/*
 * Typed access to the columns of a row. Each function throws OvsdbError `BAD_ARGUMENT` when the row has no such column
 * (it is not monitored) or the column is of another type.
 */

/** A column of one string. */
export function textOf(row: Row, column: string): string {
    return text(valueOf(row, column), column);
}

/** A column of one integer or real. */
export function numberOf(row: Row, column: string): number {
    return number(valueOf(row, column), column);
}

/** A column of one boolean. */
export function booleanOf(row: Row, column: string): boolean {
    const value = valueOf(row, column);
    if (typeof value !== "boolean") throw wrongType(column, "a boolean", value);
    return value;
}

/** An optional string: undefined when it is not set. */
export function optionalTextOf(row: Row, column: string): string | undefined {
    const atom = first(row, column);
    return atom === undefined ? undefined : text(atom, column);
}

/** An optional number: undefined when it is not set. */
export function optionalNumberOf(row: Row, column: string): number | undefined {
    const atom = first(row, column);
    return atom === undefined ? undefined : number(atom, column);
}

/** The UUIDs of the rows that a column refers to, be it one, an optional one or a set. */
export function referencesOf(row: Row, column: string): readonly string[] {
    const value = valueOf(row, column);
    const atoms = isList(value) ? value : [value];
    return atoms.map((atom) => {
        if (!isUuid(atom)) throw wrongType(column, "references to rows", value);
        return atom.uuid;
    });
}

/** A map of strings to strings, such as `external_ids`. */
export function textMapOf(row: Row, column: string): ReadonlyMap<string, string> {
    const value = valueOf(row, column);
    if (!isTextMap(value)) throw wrongType(column, "a map of strings", value);
    return value;
}

function isTextMap(value: Value): value is ReadonlyMap<string, string> {
    if (!isMap<Atom, Atom>(value)) return false;
    for (const [key, entry] of value) if (typeof key !== "string" || typeof entry !== "string") return false;
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
