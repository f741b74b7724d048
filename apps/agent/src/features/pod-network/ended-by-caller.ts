import { AntreaError, isAborted } from "@antrea/errors";
import type { AddRequest } from "../../platform/pod-interfaces/index.ts";
import { PodNetworkError } from "./errors.ts";
import type { Progress } from "./progress.ts";
import type { Tombstones } from "./tombstones.ts";

/**
 * Counts the failure of an ADD and records it on the Pod, by `failed`, which must not reject. No effect if the caller stopped
 * the ADD or deleted the interface meanwhile, of whatever class the error is: nothing is wrong with the Pod's networks then.
 */
export function reportFailure(
    request: AddRequest,
    error: unknown,
    { isDeleted }: Pick<Progress, "isDeleted">,
    failed: ((request: AddRequest, error: unknown) => Promise<void>) | undefined,
): void {
    if (!isAborted(error) && !isDeleted()) void failed?.(request, error);
}

/** Throws PodNetworkError `CANCELLED`, with the fault of the signal's reason, if the signal has aborted. */
export function refuseStopped({ containerId }: AddRequest, signal: AbortSignal): void {
    if (!signal.aborted) return;
    const { reason: cause }: { readonly reason: unknown } = signal;
    const fault = cause instanceof AntreaError ? cause.fault : "aborted";
    throw new PodNetworkError("CANCELLED", fault, `ADD of container ${containerId} was stopped`, { cause });
}

/** Throws PodNetworkError `DELETED_MEANWHILE` if a DEL of the container came after the ADD was asked for. */
export function refuseDeleted({ containerId, receivedAt }: AddRequest, tombstones: Pick<Tombstones, "hasSince">): void {
    if (!tombstones.hasSince(containerId, receivedAt)) return;
    throw new PodNetworkError(
        "DELETED_MEANWHILE",
        "caller",
        `container ${containerId} was deleted after this ADD was asked for`,
    );
}
