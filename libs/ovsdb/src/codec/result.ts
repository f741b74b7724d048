import { assertNever } from "@antrea/errors";
import { decodeValue } from "./decode-value.ts";
import { describeOperation } from "./encode-operation.ts";
import { type Operation } from "./operation.ts";
import { badMessage, member, readArray, readCount, readObject } from "./reader.ts";
import { pickColumns, type DatabaseSchema } from "./schema.ts";
import { fromServerError } from "./server-error.ts";
import { readUuidText } from "./uuid-text.ts";
import { type Row } from "./value.ts";

/**
 * The result of one operation (RFC 7047 section 5.2), with the `op` of the operation: the UUID of an inserted row, the
 * number of rows that matched `where`, or the selected rows.
 */
export type OperationResult =
    | { readonly op: "insert"; readonly uuid: string }
    | { readonly op: "update" | "mutate" | "delete"; readonly count: number }
    | { readonly op: "select"; readonly rows: readonly Row[] }
    | { readonly op: "wait" | "commit" | "abort" | "comment" | "assert" };

/**
 * Decodes the answer to a transaction (RFC 7047 section 4.1.3): one result for each operation, at its index.
 *
 * @param raw the member `result` of the answer
 * @param operations those that were sent
 * @param schema has the types of the selected columns
 * @param ownOperations how many of them, from the first, the session added; errors have the index without them
 * @throws OvsdbError for a transaction that the server rejected, with `operationIndex` unless the commit or an added
 *   operation failed; `BAD_MESSAGE` or `BAD_VALUE` for a wrong answer, `SCHEMA_MISMATCH` for a selected column that
 *   `schema` lacks
 */
export function decodeResults(
    raw: unknown,
    operations: readonly Operation[],
    schema: DatabaseSchema,
    ownOperations = 0,
): readonly OperationResult[] {
    const results = readArray(raw, "result");
    for (const [index, result] of results.entries()) {
        if (typeof result === "object" && result !== null && "error" in result) {
            throw refused(result, operations[index], index - ownOperations);
        }
    }
    if (results.length !== operations.length) {
        throw badMessage("result", `must have ${operations.length} elements, one for each operation`, results.length);
    }
    return operations.map((operation, index) => decodeResult(results[index], operation, schema, `result[${index}]`));
}

function refused(error: unknown, operation: Operation | undefined, index: number): Error {
    // One element more than there are operations: each succeeded, and the commit failed.
    if (operation === undefined) return fromServerError(error, "transaction (at its commit)");
    if (index < 0) return fromServerError(error, `transaction (${describeOperation(operation)})`);
    const name = describeOperation(operation);
    return fromServerError(error, `operation ${index} (${name})`, { operationIndex: index, operation: name });
}

function decodeResult(raw: unknown, operation: Operation, schema: DatabaseSchema, path: string): OperationResult {
    const result = readObject(raw, path);
    switch (operation.op) {
        case "insert":
            return { op: "insert", uuid: readReference(member(result, "uuid"), `${path}.uuid`) };
        case "update":
        case "mutate":
        case "delete":
            return { op: operation.op, count: readCount(member(result, "count"), `${path}.count`) };
        case "select": {
            const all = [...(schema.tables.get(operation.table)?.keys() ?? [])];
            const wanted = { [operation.table]: operation.columns ?? all };
            const columns = pickColumns(schema, wanted).get(operation.table) ?? new Map();
            const rows = readArray(member(result, "rows"), `${path}.rows`).map((row, index): Row => {
                const rowPath = `${path}.rows[${index}]`;
                const body = readObject(row, rowPath);
                const entries = Array.from(columns, ([column, type]) => {
                    return [column, decodeValue(member(body, column), type, `${rowPath}.${column}`)] as const;
                });
                return Object.freeze(Object.fromEntries(entries));
            });
            return { op: "select", rows };
        }
        case "wait":
        case "commit":
        case "abort":
        case "comment":
        case "assert":
            return { op: operation.op };
        default:
            return assertNever(operation);
    }
}

function readReference(raw: unknown, path: string): string {
    const [tag, text] = readArray(raw, path);
    if (tag !== "uuid") throw badMessage(path, 'must be ["uuid", "<UUID>"]', raw);
    return readUuidText(text, path);
}
