import { AntreaError, type AntreaErrorOptions, type Fault, messageOf } from "@antrea/errors";
import { ErrorCode, errorCodeName, type ErrorCodeName } from "./error-code.ts";
import { type CniError } from "./messages.ts";
import { detailText, textDetail } from "./text-detail.ts";

export interface CniCallErrorDetails {
    /** The error of ours that the call failed with. */
    readonly cause: unknown;
    /** The number of the answer that the error was read from. */
    readonly cniCode: number;
}

/**
 * A CNI call that fails with a code of the CNI answer. `code` is the name, `cniCode` the number on the wire, `hint` the
 * optional longer text that becomes `details` of the CNI error object.
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

/** The wire form of anything that was thrown: a `CniCallError` keeps its code, everything else is `INTERNAL`. */
export function toCniError(error: unknown): CniError {
    if (error instanceof CniCallError) {
        const details = error.hint === undefined ? [] : [textDetail(error.hint)];
        return { code: error.cniCode, message: messageOf(error), details };
    }
    return { code: ErrorCode.INTERNAL, message: messageOf(error), details: [] };
}

/** The error that a peer's answer carries; a code this version does not know becomes `UNKNOWN` and keeps its number. */
export function fromCniError(error: CniError): CniCallError {
    const hint = detailText(error.details);
    return new CniCallError(errorCodeName(error.code) ?? "UNKNOWN", "peer", error.message, {
        details: { cniCode: error.code },
        ...(hint === "" ? {} : { hint }),
    });
}
