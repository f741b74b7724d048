import { AntreaError } from "@antrea/errors";

export type RuntimeErrorCode =
    /** The command line is not understood. */
    | "BAD_FLAGS"
    /** A part did not start; the cause says why. */
    | "START_FAILED"
    /** One or more parts did not stop; `details.failures` names them. */
    | "STOP_FAILED"
    /** A call came in a state in which it has no meaning. */
    | "WRONG_STATE"
    /** A name is taken: of a part, a job or a metric. */
    | "DUPLICATE_NAME"
    /** The work must not be tried again; see {@link TerminalError}. */
    | "TERMINAL";

export interface RuntimeErrorDetails {
    /** The part that did not start. */
    readonly part: string;
    /** The parts that did not stop. */
    readonly failures: readonly { readonly part: string; readonly error: unknown }[];
}

/** The errors of this library. */
export class RuntimeError<Code extends RuntimeErrorCode = RuntimeErrorCode> extends AntreaError<
    Code,
    RuntimeErrorDetails
> {}

/** Thrown by a job that must not be tried again. Everything else is retried. */
export class TerminalError extends RuntimeError<"TERMINAL"> {
    constructor(message: string, options: { readonly cause?: unknown } = {}) {
        super("TERMINAL", "internal", message, options);
    }
}
