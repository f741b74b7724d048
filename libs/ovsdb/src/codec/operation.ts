import { type InputRow, type InputValue } from "./value.ts";

/**
 * RFC 7047 section 5.1, <function>. `<`, `<=`, `>=` and `>` are for columns of one integer or real. `includes` and
 * `excludes` are true for a set or map with all, or none, of the elements of the value.
 */
export type ConditionFunction = "<" | "<=" | "==" | "!=" | ">=" | ">" | "includes" | "excludes";

/**
 * RFC 7047 section 5.1, <condition>: `["name", "==", "br-int"]`. The value has the type of the column. Every table has
 * the column `_uuid`.
 */
export type Condition = readonly [column: string, test: ConditionFunction, value: InputValue];

/**
 * RFC 7047 section 5.1, <mutator>. Arithmetic is for integers and reals, `insert` and `delete` for sets and maps.
 * `insert` keeps the value of a key that a map has already; `delete` on a map takes a set of keys, or a map of pairs
 * that must be equal.
 */
export type Mutator = "+=" | "-=" | "*=" | "/=" | "%=" | "insert" | "delete";

/** RFC 7047 section 5.1, <mutation>: `["external_ids", "insert", map({ "antrea-type": "container" })]`. */
export type Mutation = readonly [column: string, mutator: Mutator, value: InputValue];

/**
 * One operation of a transaction (RFC 7047 section 5.2), made by the functions below and checked when it is encoded
 * (`encodeOperations`, `BAD_ARGUMENT`). `where` selects the rows that meet all conditions; an empty one selects every
 * row of the table. Without `columns` all are selected.
 */
export type Operation =
    | { readonly op: "insert"; readonly table: string; readonly row: InputRow; readonly uuidName?: string }
    | {
          readonly op: "select";
          readonly table: string;
          readonly where: readonly Condition[];
          readonly columns?: readonly string[];
      }
    | { readonly op: "update"; readonly table: string; readonly where: readonly Condition[]; readonly row: InputRow }
    | {
          readonly op: "mutate";
          readonly table: string;
          readonly where: readonly Condition[];
          readonly mutations: readonly Mutation[];
      }
    | { readonly op: "delete"; readonly table: string; readonly where: readonly Condition[] }
    | {
          readonly op: "wait";
          readonly table: string;
          readonly where: readonly Condition[];
          readonly columns: readonly string[];
          readonly until: "==" | "!=";
          readonly rows: readonly InputRow[];
          readonly timeoutMs?: number;
      }
    | { readonly op: "commit"; readonly durable: boolean }
    | { readonly op: "abort" }
    | { readonly op: "comment"; readonly comment: string }
    | { readonly op: "assert"; readonly lock: string };

/**
 * Inserts a row; columns that `row` does not name have their default (RFC 7047 section 5.2.1). `uuidName` names the row
 * for references in the same transaction (`named`): letters, digits, `_`, no digit first.
 */
export function insert(table: string, row: InputRow, uuidName?: string): Operation {
    return uuidName === undefined ? { op: "insert", table, row } : { op: "insert", table, row, uuidName };
}

/**
 * Returns the rows that meet all conditions, with `columns` or by default every column, `_uuid` and `_version` included
 * (RFC 7047 section 5.2.2).
 */
export function select(table: string, where: readonly Condition[], columns?: readonly string[]): Operation {
    return columns === undefined ? { op: "select", table, where } : { op: "select", table, where, columns };
}

/** Sets the columns of `row` in each row that meets all conditions; the others stay (RFC 7047 section 5.2.3). */
export function update(table: string, where: readonly Condition[], row: InputRow): Operation {
    return { op: "update", table, where, row };
}

/** Applies the mutations, in order, to each row that meets all conditions (RFC 7047 section 5.2.4). */
export function mutate(table: string, where: readonly Condition[], mutations: readonly Mutation[]): Operation {
    return { op: "mutate", table, where, mutations };
}

/** Deletes the rows that meet all conditions (RFC 7047 section 5.2.5). */
export function remove(table: string, where: readonly Condition[]): Operation {
    return { op: "delete", table, where };
}

/**
 * The condition of a `wait` operation: the rows that meet `where`, reduced to `columns`, are (`==`) or are not (`!=`)
 * the given rows.
 */
export interface WaitCondition {
    readonly where: readonly Condition[];
    readonly columns: readonly string[];
    readonly until: "==" | "!=";
    readonly rows: readonly InputRow[];
    /** In milliseconds. 0: the transaction fails at once unless the condition holds. Default: no limit. */
    readonly timeoutMs?: number;
}

/**
 * The transaction waits until the condition holds, and fails with `WAIT_TIMED_OUT` after `timeoutMs` (RFC 7047 section
 * 5.2.6).
 */
export function wait(table: string, condition: WaitCondition): Operation {
    return { op: "wait", table, ...condition };
}

/**
 * The transaction fails with `NOT_LOCK_OWNER` unless this session owns the lock (RFC 7047 section 5.2.10). The name has
 * letters, digits and `_`, no digit first.
 */
export function assertLock(lock: string): Operation {
    return { op: "assert", lock };
}

/**
 * Adds text to the transaction's record in the database's log (RFC 7047 section 5.2.9); well-formed Unicode without
 * NUL.
 */
export function comment(text: string): Operation {
    return { op: "comment", comment: text };
}

/**
 * With `durable`, the answer comes after the transaction has been written to disk, else maybe before (RFC 7047 section
 * 5.2.7). Without this operation a transaction is committed as with false.
 */
export function commit(durable: boolean): Operation {
    return { op: "commit", durable };
}

/**
 * The transaction fails with `TRANSACTION_ABORTED`, after a trial of the operations before it (RFC 7047 section 5.2.8).
 */
export function abort(): Operation {
    return { op: "abort" };
}

/** The condition that selects the row with this UUID; a malformed UUID is rejected when the operation is encoded. */
export function byUuid(uuid: string): Condition {
    return ["_uuid", "==", { uuid }];
}
