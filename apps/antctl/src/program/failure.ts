import { AntreaError, isErrorOf, messageOf } from "@antrea/errors";
import { isKubeError, type KubeError } from "@antrea/kube";
import { CliError } from "../errors.ts";
import { oneLine } from "../output/index.ts";

/** Exit code: the command succeeded and found no problem. */
export const exitOk = 0;
/** Exit code: the command failed, or found a problem. */
export const exitFailed = 1;
/**
 * Exit code: `ipam check` failed or could not check everything, or the API server did not judge all pools of `ipam
 * plan`.
 */
export const exitIncomplete = 2;
/** Exit code: the command line is wrong (EX_USAGE of sysexits.h). */
export const exitUsage = 64;

/** A failure to print: `what` is the problem on one line, `next` the remedy, both without labels and line ends. */
export interface Failure {
    readonly what: string;
    readonly next: string;
    readonly exitCode: number;
}

/**
 * The text and exit code for any error: exitUsage for CliError `USAGE`, else exitFailed. One that is not Antrea's is
 * reported as a bug.
 */
export function failureOf(error: unknown): Failure {
    if (isErrorOf(CliError, error)) {
        const exitCode = isErrorOf(CliError, error, "USAGE") ? exitUsage : exitFailed;
        return { what: oneLine(error.message), next: error.next, exitCode };
    }
    if (isKubeError(error)) return { what: oneLine(messageOf(error)), next: nextOf(error), exitCode: exitFailed };
    if (error instanceof AntreaError) {
        return { what: oneLine(messageOf(error)), next: "read the message; try again", exitCode: exitFailed };
    }
    const what = `antctl failed in a way that it should not: ${oneLine(messageOf(error))}`;
    return { what, next: "report this with the command line and the versions (antctl version)", exitCode: exitFailed };
}

function nextOf(error: KubeError): string {
    switch (error.code) {
        case "BAD_CONFIG":
            return "give --kubeconfig FILE or set KUBECONFIG, and choose a context with --context";
        case "UNAUTHORIZED":
            return "renew the credentials of the kubeconfig's user, or choose another context with --context";
        case "FORBIDDEN":
            return "ask an administrator for the permissions that this command needs (docs/antctl.md lists them)";
        case "CONNECTION_FAILED":
        case "TIMEOUT":
        case "SERVER_TIMEOUT":
        case "UNAVAILABLE":
            return "check that the API server can be reached: kubectl cluster-info";
        case "TOO_MANY_REQUESTS":
            return "the API server is busy: try again in a while, or give a longer --request-timeout";
        default:
            return "check the API server's message";
    }
}
