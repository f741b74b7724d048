import { AntreaError, type AntreaErrorOptions, type Fault } from "@antrea/errors";

/**
 * Codes of CliError:
 * - `USAGE`: the command line is wrong;
 * - `BAD_INPUT`: an address or a file cannot be read;
 * - `NOT_FOUND`: the cluster has no such object;
 * - `NOT_SERVED`: the cluster does not serve Antrea's kinds;
 * - `IGNORED`: AntreaProxy does not serve the Service;
 * - `EXEC_FAILED`: a command in a container could not be run or failed.
 */
export type CliErrorCode = "USAGE" | "BAD_INPUT" | "NOT_FOUND" | "NOT_SERVED" | "IGNORED" | "EXEC_FAILED";

/**
 * An error that antctl prints as two lines: `message` is the problem, `next` the step that remedies it, as an
 * imperative. It has no details; the exit code is that of `failureOf`.
 */
export class CliError extends AntreaError<CliErrorCode> {
    readonly next: string;

    constructor(code: CliErrorCode, fault: Fault, message: string, next: string, options: AntreaErrorOptions = {}) {
        super(code, fault, message, options);
        this.next = next;
    }
}
