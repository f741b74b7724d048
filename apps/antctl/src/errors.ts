import { AntreaError, type AntreaErrorOptions, type Fault } from "@antrea/errors";

/**
 * What ends a command:
 *
 * - `USAGE`: the command line is wrong;
 * - `BAD_INPUT`: what it names cannot be read (an address, a file);
 * - `NOT_FOUND`: the cluster has no such object;
 * - `NOT_SERVED`: the cluster does not know our kinds of objects;
 * - `EXEC_FAILED`: a command in a container could not be run or failed.
 */
export type CliErrorCode = "USAGE" | "BAD_INPUT" | "NOT_FOUND" | "NOT_SERVED" | "EXEC_FAILED";

/** A failure that a person reads: `message` says what, `next` what to do about it. */
export class CliError extends AntreaError<CliErrorCode> {
    readonly next: string;

    constructor(code: CliErrorCode, fault: Fault, message: string, next: string, options: AntreaErrorOptions = {}) {
        super(code, fault, message, options);
        this.next = next;
    }
}
