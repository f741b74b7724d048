/**
 * Whose fault an error is, which decides what a handler does with it:
 *
 * - `internal`: a defect of ours.
 * - `caller`: whoever called asked for something that is not allowed.
 * - `peer`: bytes or objects from another program break the rules of their protocol.
 * - `environment`: the machine, the kernel or another daemon is not in the state that is needed.
 * - `timeout`: an answer did not come in time; what was asked may still take effect.
 * - `aborted`: the work was cancelled on purpose; no failure, never logged as one.
 * - `unsupported`: known and not available here.
 */
export type Fault = "internal" | "caller" | "peer" | "environment" | "timeout" | "aborted" | "unsupported";

export interface AntreaErrorOptions {
    /** The error that led to this one. */
    readonly cause?: unknown;
    /** Values for log fields and for handlers; never needed to understand the message. */
    readonly details?: Readonly<Record<string, unknown>>;
}

/**
 * The base of every error of the project. Libraries derive one class each and narrow `Code` to the union of their
 * codes, so that a handler switches on `code` and logs `details`.
 */
export class AntreaError<Code extends string = string> extends Error {
    readonly code: Code;
    readonly fault: Fault;
    readonly details: Readonly<Record<string, unknown>>;

    constructor(code: Code, fault: Fault, message: string, options: AntreaErrorOptions = {}) {
        super(message, options.cause === undefined ? undefined : { cause: options.cause });
        this.name = new.target.name;
        this.code = code;
        this.fault = fault;
        this.details = options.details ?? {};
    }
}

/** True for errors that say "cancelled on purpose": ours and those of the platform's AbortSignal. */
export function isAborted(error: unknown): boolean {
    if (error instanceof AntreaError) return error.fault === "aborted";
    return isErrorLike(error) && error.name === "AbortError";
}

/** The text of anything that was thrown, with the texts of its causes. */
export function messageOf(error: unknown): string {
    if (!isErrorLike(error)) return String(error);
    return error.cause === undefined ? error.message : `${error.message}: ${messageOf(error.cause)}`;
}

// By shape, not by class: an error may come from another realm (a vm context, a worker).
function isErrorLike(value: unknown): value is Error {
    return typeof value === "object" && value !== null && "name" in value && "message" in value;
}

/** Ends a switch over a union: does not compile when a case is missing. */
export function assertNever(value: never): never {
    throw new AntreaError("UNREACHABLE", "internal", `unexpected value ${JSON.stringify(value)}`);
}
