import { type InputRow, type InputValue } from "./value.ts";

/** RFC 7047 section 5.1, <function>. For sets and maps only `==`, `!=`, `includes` and `excludes` are allowed. */
export type ConditionFunction = "<" | "<=" | "==" | "!=" | ">=" | ">" | "includes" | "excludes";

/** RFC 7047 section 5.1, <condition>: `["name", "==", "br-int"]`. `_uuid` is a column of every table. */
export type Condition = readonly [column: string, test: ConditionFunction, value: InputValue];

/** RFC 7047 section 5.1, <mutator>. `delete` on a map takes a set of keys, or a map of pairs that must fit whole. */
export type Mutator = "+=" | "-=" | "*=" | "/=" | "%=" | "insert" | "delete";

/** RFC 7047 section 5.1, <mutation>: `["external_ids", "insert", map({ "antrea-type": "container" })]`. */
export type Mutation = readonly [column: string, mutator: Mutator, value: InputValue];

/** One operation of a transaction (RFC 7047 section 5.2). An empty `where` means every row of the table. */
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

/** `uuidName` names the new row for references from the same transaction: letters, digits, `_`, no digit first. */
export function insert(table: string, row: InputRow, uuidName?: string): Operation {
    return uuidName === undefined ? { op: "insert", table, row } : { op: "insert", table, row, uuidName };
}

/** Without `columns` every column of the table is given. */
export function select(table: string, where: readonly Condition[], columns?: readonly string[]): Operation {
    return columns === undefined ? { op: "select", table, where } : { op: "select", table, where, columns };
}

export function update(table: string, where: readonly Condition[], row: InputRow): Operation {
    return { op: "update", table, where, row };
}

export function mutate(table: string, where: readonly Condition[], mutations: readonly Mutation[]): Operation {
    return { op: "mutate", table, where, mutations };
}

export function remove(table: string, where: readonly Condition[]): Operation {
    return { op: "delete", table, where };
}

/** What a `wait` operation waits for: the rows that fit `where`, reduced to the columns, are (not) these rows. */
export interface WaitCondition {
    readonly where: readonly Condition[];
    readonly columns: readonly string[];
    readonly until: "==" | "!=";
    readonly rows: readonly InputRow[];
    /** 0: the transaction fails at once unless the condition holds. Default: the server waits without limit. */
    readonly timeoutMs?: number;
}

export function wait(table: string, condition: WaitCondition): Operation {
    return { op: "wait", table, ...condition };
}

/** The transaction fails with `NOT_LOCK_OWNER` unless this session owns the lock (RFC 7047 section 5.2.10). */
export function assertLock(lock: string): Operation {
    return { op: "assert", lock };
}

/** Text for the database's log. */
export function comment(text: string): Operation {
    return { op: "comment", comment: text };
}

/** The answer is delayed until the transaction is on disk when `durable` (RFC 7047 section 5.2.7). */
export function commit(durable: boolean): Operation {
    return { op: "commit", durable };
}

/** The transaction fails with `TRANSACTION_ABORTED`: a trial of what stands before it. */
export function abort(): Operation {
    return { op: "abort" };
}

/** The condition that picks one row. */
export function byUuid(uuid: string): Condition {
    return ["_uuid", "==", { uuid }];
}

/** The condition that a column has this value. */
export function equals(column: string, value: InputValue): Condition {
    return [column, "==", value];
}
