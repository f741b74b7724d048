import { AntreaError } from "@antrea/errors";

/**
 * Bytes that are no protobuf message, fault `remote`: incomplete (`SHORT_INPUT`), a field of another wire
 * type than expected (`WRONG_WIRE_TYPE`), malformed (`BAD_VARINT`, `BAD_FIELD_NUMBER`, `BAD_GROUP`), or text that is
 * not UTF-8.
 */
export class CniMessageError extends AntreaError<
    "SHORT_INPUT" | "WRONG_WIRE_TYPE" | "BAD_VARINT" | "BAD_FIELD_NUMBER" | "BAD_UTF8" | "BAD_GROUP"
> {}
