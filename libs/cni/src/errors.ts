import { AntreaError, type AntreaErrorOptions, type Fault, messageOf } from "@antrea/errors";
import { ErrorCode, type ErrorCodeName } from "./error-code.ts";
import { type CniError } from "./messages.ts";
import { textDetail } from "./text-detail.ts";

/** Details of a `CniCallError`. */
export interface CniCallErrorDetails {
    /** The error of this project that made the call fail; set by the agent's CNI server. */
    readonly cause: unknown;
}

/**
 * A CNI call that fails with an error code of the CNI answer. `code` is its name, `cniCode` the number on the wire,
 * `hint` an optional longer text, which becomes `details` of the CNI error object.
 */
export class CniCallError extends AntreaError<ErrorCodeName, CniCallErrorDetails> {
    readonly cniCode: number;
    readonly hint: string | undefined;

    constructor(
        code: ErrorCodeName,
        fault: Fault,
        message: string,
        options: AntreaErrorOptions<CniCallErrorDetails> & { readonly hint?: string } = {},
    ) {
        super(code, fault, message, options);
        this.cniCode = ErrorCode[code];
        this.hint = options.hint;
    }
}

/**
 * Returns the wire form of any error: a `CniCallError` keeps its code and hint, every other error is `INTERNAL`. The
 * message is followed by those of its causes (`messageOf`).
 */
export function toCniError(error: unknown): CniError {
    if (error instanceof CniCallError) {
        const details = error.hint === undefined ? [] : [textDetail(error.hint)];
        return { code: error.cniCode, message: messageOf(error), details };
    }
    return { code: ErrorCode.INTERNAL, message: messageOf(error), details: [] };
}
