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

/** The details of an error whose class declares none. */
export type NoDetails = Readonly<Record<string, never>>;

export interface AntreaErrorOptions<Details extends object = NoDetails> {
    /** The error that led to this one. */
    readonly cause?: unknown;
    /** Values for log fields and for handlers; never needed to understand the message. */
    readonly details?: Readonly<Partial<Details>>;
}

/**
 * The base of every error of the project. Libraries derive one class each and narrow `Code` to the union of their
 * codes and `Details` to what their errors carry, so that a handler switches on `code`, reads `details` without a cast,
 * and logs them. Each detail may be missing: which are set follows from the code, as the class says.
 */
export class AntreaError<Code extends string = string, Details extends object = NoDetails> extends Error {
    readonly code: Code;
    readonly fault: Fault;
    readonly details: Readonly<Partial<Details>>;

    constructor(code: Code, fault: Fault, message: string, options: AntreaErrorOptions<Details> = {}) {
        super(message, options.cause === undefined ? undefined : { cause: options.cause });
        this.name = new.target.name;
        this.code = code;
        this.fault = fault;
        this.details = (options.details ?? {}) as Readonly<Partial<Details>>;
    }
}

/** True for errors that say "cancelled on purpose": ours and those of the platform's AbortSignal. */
export function isAborted(error: unknown): boolean {
    if (error instanceof AntreaError) return error.fault === "aborted";
    return isErrorLike(error) && error.name === "AbortError";
}

/**
 * True for an error of this class, and of one of these codes if any are named. Errors are told apart by their class:
 * those of different libraries have codes of the same name.
 */
export function isErrorOf<Failure extends AntreaError<string, object>, Wanted extends Failure["code"]>(
    type: abstract new (...args: never[]) => Failure,
    error: unknown,
    ...codes: readonly Wanted[]
): error is Failure & { readonly code: Wanted } {
    // "includes" of a union takes members of the union only
    return error instanceof type && (codes.length === 0 || (codes as readonly string[]).includes(error.code));
}

/** An error of Node.js itself or of the system, as `node:fs` and `node:net` throw it: errno(3) by name. */
export interface SystemError extends Error {
    readonly code: string;
}

/** True for an error of the system, and of one of these codes (`ENOENT`, `EADDRINUSE`, …) if any are named. */
export function isSystemError(error: unknown, ...codes: readonly string[]): error is SystemError {
    if (error instanceof AntreaError || !isErrorLike(error) || !("code" in error)) return false;
    const { code } = error;
    return typeof code === "string" && (codes.length === 0 || codes.includes(code));
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
    // eslint-disable-next-line no-restricted-syntax -- it is nobody's: the case is missing wherever it is called
    throw new AntreaError("UNREACHABLE", "internal", `unexpected value ${JSON.stringify(value)}`);
}
