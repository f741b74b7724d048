import { AntreaError } from "@antrea/errors";

/**
 * Codes of RuntimeError: `BAD_FLAGS` of parseFlags; `START_FAILED` and `STOP_FAILED` of a Lifecycle; `WRONG_STATE` and
 * `DUPLICATE_NAME` of Lifecycle, Jobs and metrics; `TERMINAL` of TerminalError.
 */
export type RuntimeErrorCode =
    /** The command line is not valid. */
    | "BAD_FLAGS"
    /** A part did not start; the cause is its error. */
    | "START_FAILED"
    /** One or more parts did not stop; `details.failures` lists them. */
    | "STOP_FAILED"
    /** The call is not valid in the current state. */
    | "WRONG_STATE"
    /** The name of a part, a job or a metric is in use. */
    | "DUPLICATE_NAME"
    /** The work must not be retried; see {@link TerminalError}. */
    | "TERMINAL";

/** Details of RuntimeError; each is set only for the code that its comment names. */
export interface RuntimeErrorDetails {
    /** The part that did not start; set for `START_FAILED`. */
    readonly part: string;
    /** The parts that did not stop, with their errors; set for `STOP_FAILED`. */
    readonly failures: readonly { readonly part: string; readonly error: unknown }[];
}

/** The error class of this library; see {@link RuntimeErrorCode} for the codes. */
export class RuntimeError<Code extends RuntimeErrorCode = RuntimeErrorCode> extends AntreaError<
    Code,
    RuntimeErrorDetails
> {}

/**
 * Thrown by the work of a job (`Jobs`) or of a work queue (@antrea/kube) for a failure that must not be retried: the
 * job or key is given up and the error logged. All other errors are retried; a Reconciler retries this one too. Code
 * `TERMINAL`, fault `internal`.
 */
export class TerminalError extends RuntimeError<"TERMINAL"> {
    constructor(message: string, options: { readonly cause?: unknown } = {}) {
        super("TERMINAL", "internal", message, options);
    }
}
