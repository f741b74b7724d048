import { OvsdbError } from "../codec/error.ts";
import { applyDifference } from "../codec/difference.ts";
import { type MonitoredTables, type TableRowUpdate } from "../codec/update.ts";
import { type Row, type Value } from "../codec/value.ts";
import { sameRow } from "../codec/value-order.ts";

/** The change of one row: inserted (no `before`), modified, or deleted (no `after`). */
export interface RowChange {
    readonly table: string;
    readonly uuid: string;
    readonly before?: Row;
    readonly after?: Row;
}

/**
 * The copy of the rows of these tables. A call that throws changes nothing. The updates of one call must name each row
 * at most once.
 */
export class RowCache {
    readonly #tables = new Map<string, Map<string, Row>>();

    constructor(tables: readonly string[]) {
        for (const table of tables) this.#tables.set(table, new Map());
    }

    /**
     * The rows of a table by UUID, as a live view.
     *
     * @throws OvsdbError `BAD_ARGUMENT` for a table not given to the constructor
     */
    rows(table: string): ReadonlyMap<string, Row> {
        const rows = this.#tables.get(table);
        if (rows !== undefined) return rows;
        const message = `table ${JSON.stringify(table)} is not monitored: name it in the session's option monitor`;
        throw new OvsdbError("BAD_ARGUMENT", "caller", message);
    }

    /**
     * Applies updates of the server and returns the changes, in the order of the updates; `monitored` has the column
     * types for `modify`.
     *
     * @throws OvsdbError `BAD_MESSAGE` for an update of a row that does not exist, or an insert of one that does;
     *   `BAD_ARGUMENT` for a table not given to the constructor
     */
    apply(updates: readonly TableRowUpdate[], monitored: MonitoredTables): readonly RowChange[] {
        const changes = updates.map((update) => this.#change(update, monitored));
        this.#commit(changes);
        return changes;
    }

    /**
     * Makes the cache equal to a snapshot, which must have inserts only, and returns the changes: rows that the
     * snapshot lacks are deleted, equal ones are no change.
     *
     * @throws OvsdbError `BAD_MESSAGE` for another update; `BAD_ARGUMENT` for a table not given to the constructor
     */
    replace(snapshot: readonly TableRowUpdate[]): readonly RowChange[] {
        const changes: RowChange[] = [];
        const present = new Set<string>();
        for (const { table, uuid, update } of snapshot) {
            if (update.kind !== "insert") throw inconsistent(table, uuid, `a snapshot cannot ${update.kind} it`);
            present.add(`${table} ${uuid}`);
            const before = this.rows(table).get(uuid);
            if (before === undefined) changes.push({ table, uuid, after: update.row });
            else if (!sameRow(before, update.row)) changes.push({ table, uuid, before, after: update.row });
        }
        for (const [table, rows] of this.#tables) {
            for (const [uuid, before] of rows) {
                if (!present.has(`${table} ${uuid}`)) changes.push({ table, uuid, before });
            }
        }
        this.#commit(changes);
        return changes;
    }

    #change({ table, uuid, update }: TableRowUpdate, monitored: MonitoredTables): RowChange {
        const before = this.rows(table).get(uuid);
        if (update.kind === "insert") {
            if (before !== undefined) throw inconsistent(table, uuid, "it was inserted before");
            return { table, uuid, after: update.row };
        }
        if (before === undefined) throw inconsistent(table, uuid, `there is nothing to ${update.kind}`);
        switch (update.kind) {
            case "delete":
                return { table, uuid, before };
            case "replace":
                return { table, uuid, before, after: update.row };
            case "modify": {
                const after: Record<string, Value> = { ...before };
                for (const [column, type] of monitored.get(table) ?? []) {
                    const [old, difference] = [before[column], update.difference.get(column)];
                    if (old !== undefined && difference !== undefined) {
                        after[column] = applyDifference(old, difference, type);
                    }
                }
                return { table, uuid, before, after: Object.freeze(after) };
            }
        }
    }

    #commit(changes: readonly RowChange[]): void {
        for (const { table, uuid, after } of changes) {
            const rows = this.#tables.get(table);
            if (after === undefined) rows?.delete(uuid);
            else rows?.set(uuid, after);
        }
    }
}

function inconsistent(table: string, uuid: string, what: string): OvsdbError {
    const message = `update of ${table} row ${uuid} does not fit the rows known so far: ${what}`;
    return new OvsdbError("BAD_MESSAGE", "remote", message, { details: { table, uuid } });
}
