import { decodeValue, defaultValue } from "./decode-value.ts";
import { badMessage, member, readObject, show } from "./reader.ts";
import { type TableSchema } from "./schema.ts";
import { readUuidText } from "./uuid-text.ts";
import { type Row, type Value } from "./value.ts";

/** The tables of a monitor by name, each with the types of its monitored columns. */
export type MonitoredTables = ReadonlyMap<string, TableSchema>;

/**
 * What a monitor reports of one row. `replace` has the whole new row (update); `modify` has for each changed column the
 * difference between old and new value (update2, update3), for `applyDifference`.
 */
export type RowUpdate =
    | { readonly kind: "insert" | "replace"; readonly row: Row }
    | { readonly kind: "modify"; readonly difference: ReadonlyMap<string, Value> }
    | { readonly kind: "delete" };

/** The update of one row, which its table and UUID identify. */
export interface TableRowUpdate {
    readonly table: string;
    readonly uuid: string;
    readonly update: RowUpdate;
}

/**
 * Format of updates. `updates`, for `monitor`: RFC 7047 section 4.1.6; `updates2`, for `monitor_cond` and
 * `monitor_cond_since`: ovsdb-server(7) section 4.1.14.
 */
export type UpdateFormat = "updates" | "updates2";

/**
 * Decodes the answer of a monitor request or the body of an update notification, in the order of the message. Columns
 * that `updates2` omits have their default.
 *
 * @throws OvsdbError `BAD_MESSAGE`, also for tables and columns that are not monitored; `BAD_VALUE`
 */
export function decodeTableUpdates(
    raw: unknown,
    format: UpdateFormat,
    monitored: MonitoredTables,
): readonly TableRowUpdate[] {
    const updates: TableRowUpdate[] = [];
    for (const [table, rows] of Object.entries(readObject(raw, "update"))) {
        const columns = monitored.get(table);
        if (columns === undefined) throw badMessage("update", "must be about monitored tables", table);
        for (const [key, body] of Object.entries(readObject(rows, `update.${table}`))) {
            const path = `update.${table}[${show(key)}]`;
            const uuid = readUuidText(key, path);
            const rowUpdate = readObject(body, path);
            const update =
                format === "updates" ? decodeUpdate(rowUpdate, columns, path) : decodeUpdate2(rowUpdate, columns, path);
            updates.push({ table, uuid, update });
        }
    }
    return updates;
}

function decodeUpdate(body: Readonly<Record<string, unknown>>, columns: TableSchema, path: string): RowUpdate {
    const [before, after] = [member(body, "old"), member(body, "new")];
    if (after !== undefined) {
        const row = decodeRow(after, columns, `${path}.new`);
        return { kind: before === undefined ? "insert" : "replace", row };
    }
    if (before === undefined) throw badMessage(path, "must have old or new", body);
    return { kind: "delete" };
}

function decodeUpdate2(body: Readonly<Record<string, unknown>>, columns: TableSchema, path: string): RowUpdate {
    const members = Object.entries(body);
    const [kind, value] = members[0] ?? [];
    if (members.length === 1 && (kind === "initial" || kind === "insert")) {
        return { kind: "insert", row: decodeRow(value, columns, `${path}.${kind}`) };
    }
    if (members.length === 1 && kind === "modify") {
        return { kind, difference: decodeDifference(value, columns, `${path}.modify`) };
    }
    if (members.length === 1 && kind === "delete") return { kind };
    throw badMessage(path, "must have one of initial, insert, modify, delete", body);
}

/** A column that the server omits has its default (update2); in the older format the server omits none. */
function decodeRow(raw: unknown, columns: TableSchema, path: string): Row {
    const body = readObject(raw, path);
    refuseOthers(body, columns, path);
    const entries = Array.from(columns, ([column, type]) => {
        const value = member(body, column);
        return [column, value === undefined ? defaultValue(type) : decodeValue(value, type, `${path}.${column}`)];
    });
    return Object.freeze(Object.fromEntries(entries) as Record<string, Value>);
}

function decodeDifference(raw: unknown, columns: TableSchema, path: string): ReadonlyMap<string, Value> {
    const body = readObject(raw, path);
    refuseOthers(body, columns, path);
    const difference = new Map<string, Value>();
    for (const [column, type] of columns) {
        const value = member(body, column);
        if (value !== undefined) difference.set(column, decodeValue(value, type, `${path}.${column}`, true));
    }
    return difference;
}

function refuseOthers(body: Readonly<Record<string, unknown>>, columns: TableSchema, path: string): void {
    const other = Object.keys(body).find((column) => !columns.has(column));
    if (other !== undefined) throw badMessage(path, "must have monitored columns only", other);
}
