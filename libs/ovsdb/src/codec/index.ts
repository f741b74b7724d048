/** The OVSDB protocol (RFC 7047 and ovsdb-server(7)): values, operations, results, updates, framing. No I/O. */
export {
    OvsdbError,
    type CodecErrorCode,
    type OvsdbErrorCode,
    type ServerErrorCode,
    type SessionErrorCode,
} from "./error.ts";
export {
    isMap,
    isNamedUuid,
    isUuid,
    map,
    named,
    set,
    uuid,
    type Atom,
    type InputAtom,
    type InputRow,
    type InputValue,
    type NamedUuid,
    type Row,
    type Uuid,
    type Value,
} from "./value.ts";
export { numberOf, optionalNumberOf, optionalTextOf, referencesOf, textEntryOf, textMapOf, textOf } from "./column.ts";
export {
    abort,
    assertLock,
    byUuid,
    comment,
    commit,
    insert,
    mutate,
    remove,
    select,
    update,
    wait,
    type Condition,
    type ConditionFunction,
    type Mutation,
    type Mutator,
    type Operation,
    type WaitCondition,
} from "./operation.ts";
export { describeOperation, encodeOperations } from "./encode-operation.ts";
export { encodeRow, encodeValue } from "./encode-value.ts";
export { decodeValue, defaultValue } from "./decode-value.ts";
export { sameAtom, sameRow, sameValue } from "./value-order.ts";
export { decodeResults, type OperationResult } from "./result.ts";
export {
    decodeSchema,
    pickColumns,
    type AtomType,
    type ColumnType,
    type DatabaseSchema,
    type TableSchema,
} from "./schema.ts";
export {
    decodeTableUpdates,
    type MonitoredTables,
    type RowUpdate,
    type TableRowUpdate,
    type UpdateFormat,
} from "./update.ts";
export { applyDifference } from "./difference.ts";
export { fromServerError } from "./server-error.ts";
export { decodeRpcMessage, encodeNotification, encodeRequest, encodeResponse, type RpcMessage } from "./json-rpc.ts";
export { JsonSplitter } from "./json-splitter.ts";
