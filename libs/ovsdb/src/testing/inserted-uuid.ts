import { type OperationResult } from "../codec/index.ts";

/** The UUID of the row that the insert at this index created. @throws TypeError if it is not an insert */
export function insertedUuid(results: readonly OperationResult[], index: number): string {
    const result = results[index];
    if (result?.op !== "insert") throw new TypeError(`result[${index}] is not the result of an insert`);
    return result.uuid;
}
