import { AntreaError, isAborted } from "@antrea/errors";

/**
 * Whether an ADD failed because its caller stopped it, or deleted the interface meanwhile, of whatever class the error is:
 * then nothing is wrong with the networks of the Pod.
 */
export function isEndedByCaller(error: unknown): boolean {
    return isAborted(error) || (error instanceof AntreaError && error.code === "DELETED_MEANWHILE");
}
