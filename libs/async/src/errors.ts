import { AntreaError } from "@antrea/errors";

/** Codes of AsyncError: `ABORTED` by a signal, `TIMEOUT` after a limit. */
export type AsyncErrorCode =
    /** The work was cancelled by its signal; the cause is the signal's reason. */
    | "ABORTED"
    /** The work did not end within its limit. */
    | "TIMEOUT";

/** Details of AsyncError: `ms` is set for `TIMEOUT`, none for `ABORTED`. */
export interface AsyncErrorDetails {
    /** The limit in milliseconds; set for `TIMEOUT`. */
    readonly ms: number;
}

/** The error class of this library; `code` is `ABORTED` or `TIMEOUT`. */
export class AsyncError<Code extends AsyncErrorCode = AsyncErrorCode> extends AntreaError<Code, AsyncErrorDetails> {}

/**
 * Returns AsyncError `ABORTED` with the message "`what` was cancelled" and the signal's reason as its cause. Its fault
 * is `aborted`: `isAborted` is true for it.
 */
export function abortedError(what: string, signal: AbortSignal): AsyncError<"ABORTED"> {
    return new AsyncError("ABORTED", "aborted", `${what} was cancelled`, { cause: signal.reason });
}
