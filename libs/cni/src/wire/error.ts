import { AntreaError } from "@antrea/errors";

/** Bytes that are no message of the CNI service: incomplete, of a wrong wire type, or with text that is not UTF-8. */
export class CniMessageError extends AntreaError<
    "SHORT_INPUT" | "WRONG_WIRE_TYPE" | "BAD_VARINT" | "BAD_FIELD_NUMBER" | "BAD_UTF8" | "BAD_GROUP"
> {}
