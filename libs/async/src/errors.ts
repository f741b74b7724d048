import { AntreaError } from "@antrea/errors";

export type AsyncErrorCode =
    /** The work was cancelled by its signal; the cause is the signal's reason. */
    | "ABORTED"
    /** The work did not end within its limit. */
    | "TIMEOUT";

export interface AsyncErrorDetails {
    /** The limit in milliseconds; of `TIMEOUT`. */
    readonly ms: number;
}

/** The errors of this library. */
export class AsyncError<Code extends AsyncErrorCode = AsyncErrorCode> extends AntreaError<Code, AsyncErrorDetails> {}

/** The error of an aborted signal: ours, with what the signal carried as its cause. */
export function abortedError(what: string, signal: AbortSignal): AsyncError<"ABORTED"> {
    return new AsyncError("ABORTED", "aborted", `${what} was cancelled`, { cause: signal.reason });
}
