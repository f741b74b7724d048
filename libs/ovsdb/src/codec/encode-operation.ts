import { assertNever } from "@antrea/errors";
import { badArgument, checkId, checkText, encodeRow, encodeValue } from "./encode-value.ts";
import { OvsdbError } from "./error.ts";
import { type Condition, type Mutation, type Operation } from "./operation.ts";

/**
 * Encodes operations as the parameters of `transact` after the database's name (RFC 7047 section 5.2).
 *
 * @throws OvsdbError `BAD_ARGUMENT` with `operationIndex` and `operation`
 */
export function encodeOperations(operations: readonly Operation[]): readonly Readonly<Record<string, unknown>>[] {
    return operations.map((operation, index) => {
        try {
            return encodeOperation(operation);
        } catch (error) {
            if (!(error instanceof OvsdbError)) throw error;
            const details = { ...error.details, operationIndex: index, operation: describeOperation(operation) };
            const message = `operation ${index} (${describeOperation(operation)}): ${error.message}`;
            throw new OvsdbError(error.code, error.fault, message, { cause: error.cause, details });
        }
    });
}

/** The operation as short text for messages: `insert into Port`. */
export function describeOperation(operation: Operation): string {
    switch (operation.op) {
        case "insert":
            return `insert into ${operation.table}`;
        case "select":
        case "delete":
            return `${operation.op} from ${operation.table}`;
        case "update":
        case "mutate":
            return `${operation.op} of ${operation.table}`;
        case "wait":
            return `wait on ${operation.table}`;
        case "assert":
            return `assert of lock ${operation.lock}`;
        case "commit":
        case "abort":
        case "comment":
            return operation.op;
        default:
            return assertNever(operation);
    }
}

function encodeOperation(operation: Operation): Readonly<Record<string, unknown>> {
    switch (operation.op) {
        case "insert": {
            const { op, table, uuidName } = operation;
            const name = uuidName === undefined ? {} : { "uuid-name": checkId(uuidName, "uuidName") };
            return { op, table, row: encodeRow(operation.row, "row"), ...name };
        }
        case "select": {
            const { op, table, columns } = operation;
            return { op, table, where: encodeWhere(operation.where), ...(columns === undefined ? {} : { columns }) };
        }
        case "update": {
            const { op, table } = operation;
            return { op, table, where: encodeWhere(operation.where), row: encodeRow(operation.row, "row") };
        }
        case "mutate": {
            const { op, table } = operation;
            const mutations = operation.mutations.map(encodeMutation);
            return { op, table, where: encodeWhere(operation.where), mutations };
        }
        case "delete":
            return { op: "delete", table: operation.table, where: encodeWhere(operation.where) };
        case "wait": {
            const { op, table, columns, until, timeoutMs } = operation;
            const rows = operation.rows.map((row, index) => encodeRow(row, `rows[${index}]`));
            const timeout = timeoutMs === undefined ? {} : { timeout: checkTimeout(timeoutMs) };
            return { op, table, where: encodeWhere(operation.where), columns, until, rows, ...timeout };
        }
        case "commit":
            return { op: "commit", durable: operation.durable };
        case "abort":
            return { op: "abort" };
        case "comment":
            return { op: "comment", comment: checkText(operation.comment, "comment") };
        case "assert":
            return { op: "assert", lock: checkId(operation.lock, "lock") };
        default:
            return assertNever(operation);
    }
}

function encodeWhere(where: readonly Condition[]): readonly unknown[] {
    return where.map(([column, test, value], index) => [
        column,
        test,
        encodeValue(value, `where[${index}] (${column})`),
    ]);
}

function encodeMutation([column, mutator, value]: Mutation, index: number): unknown {
    return [column, mutator, encodeValue(value, `mutations[${index}] (${column})`)];
}

function checkTimeout(timeoutMs: number): number {
    if (!Number.isSafeInteger(timeoutMs) || timeoutMs < 0) {
        throw badArgument("timeoutMs", "must be a whole number from 0", timeoutMs);
    }
    return timeoutMs;
}
