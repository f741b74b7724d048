/**
 * The cause of an error by origin, by which a handler decides what to do:
 *
 * - `internal`: a defect of this project.
 * - `caller`: the caller requested something that is not allowed.
 * - `remote`: bytes or objects from another program violate their protocol.
 * - `environment`: the machine, the kernel or another daemon is not in the required state.
 * - `timeout`: no answer in time; the request may still take effect.
 * - `aborted`: the work was cancelled on purpose; not a failure, never logged as one.
 * - `unsupported`: known, and not available here.
 */
export type Fault = "internal" | "caller" | "remote" | "environment" | "timeout" | "aborted" | "unsupported";

/** The type of `details` of an error class that declares none. */
export type NoDetails = Readonly<Record<string, never>>;

/** Options of the constructor of AntreaError: the cause and the details. */
export interface AntreaErrorOptions<Details extends object = NoDetails> {
    /** The error that led to this one. */
    readonly cause?: unknown;
    /** Values for log fields and handlers. The message must be understandable without them. */
    readonly details?: Readonly<Partial<Details>>;
}

/**
 * Base class of all errors of the project. Each library derives a class and narrows `Code` to the union of its codes
 * and `Details` to the values its errors carry, so that handlers switch on `code` and read `details` without a cast.
 * Every detail is optional: the documentation of the class states which are set for which code.
 */
export class AntreaError<Code extends string = string, Details extends object = NoDetails> extends Error {
    /** Identifies the failure; unique within the error class. */
    readonly code: Code;
    readonly fault: Fault;
    /** Values for log fields and handlers. */
    readonly details: Readonly<Partial<Details>>;

    constructor(code: Code, fault: Fault, message: string, options: AntreaErrorOptions<Details> = {}) {
        super(message, options.cause === undefined ? undefined : { cause: options.cause });
        this.name = new.target.name;
        this.code = code;
        this.fault = fault;
        this.details = (options.details ?? {}) as Readonly<Partial<Details>>;
    }
}

/** True for cancellation: an AntreaError with fault `aborted`, or any error named `AbortError` (DOM AbortSignal). */
export function isAborted(error: unknown): boolean {
    if (error instanceof AntreaError) return error.fault === "aborted";
    return isErrorLike(error) && error.name === "AbortError";
}

/**
 * True for an instance of the error class `type` whose code is one of `codes`, or has any code if none are given.
 * Compare by class, as libraries use equal codes for different errors.
 */
export function isErrorOf<Failure extends AntreaError<string, object>, Wanted extends Failure["code"]>(
    type: abstract new (...args: never[]) => Failure,
    error: unknown,
    ...codes: readonly Wanted[]
): error is Failure & { readonly code: Wanted } {
    // "includes" of a union takes members of the union only
    return error instanceof type && (codes.length === 0 || (codes as readonly string[]).includes(error.code));
}

/**
 * An error of Node.js or of the operating system, as `node:fs` and `node:net` throw it; `code` is a name of errno(3)
 * such as `ENOENT`, or one of Node.js such as `ERR_INVALID_ARG_TYPE`.
 */
export interface SystemError extends Error {
    /** Name of errno(3) or of a Node.js error. */
    readonly code: string;
}

/**
 * True for a SystemError whose code is one of `codes` (`ENOENT`, `EADDRINUSE`, …), or has any code if none are given.
 * False for every AntreaError.
 */
export function isSystemError(error: unknown, ...codes: readonly string[]): error is SystemError {
    if (error instanceof AntreaError || !isErrorLike(error) || !("code" in error)) return false;
    const { code } = error;
    return typeof code === "string" && (codes.length === 0 || codes.includes(code));
}

/**
 * Returns the message of an error followed by those of its causes, separated by ": "; for any other value
 * `String(value)`.
 */
export function messageOf(error: unknown): string {
    if (!isErrorLike(error)) return String(error);
    return error.cause === undefined ? error.message : `${error.message}: ${messageOf(error.cause)}`;
}

// By shape, not by class: an error may come from another realm (a vm context, a worker).
function isErrorLike(value: unknown): value is Error {
    return typeof value === "object" && value !== null && "name" in value && "message" in value;
}

/**
 * Marks the end of an exhaustive switch over a union: a missing case is a compile error. Throws AntreaError
 * `UNREACHABLE` (fault `internal`) if it is reached at run time.
 */
export function assertNever(value: never): never {
    // eslint-disable-next-line no-restricted-syntax -- it is nobody's: the case is missing wherever it is called
    throw new AntreaError("UNREACHABLE", "internal", `unexpected value ${JSON.stringify(value)}`);
}
