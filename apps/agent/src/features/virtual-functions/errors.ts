import type { ErrorCodeName } from "@antrea/cni";
import { AntreaError, type Fault } from "@antrea/errors";

/**
 * Why a Pod cannot get a virtual function:
 *
 * - `NO_KUBELET`: the pod-resources API of the kubelet does not answer; retry.
 * - `TOO_FEW`: the Pod has fewer devices of a resource than its networks need.
 * - `NOT_OF_POD`: a meta plugin names a device that the Pod does not have, or none.
 * - `NO_LINK`: the Node has no link of the device; retry.
 * - `HELD`: the device is still the interface of another container; retry.
 * - `NOT_KEPT`: what the link is cannot be written to the Node's disk, so nothing is changed; retry.
 * - `BAD_MTU`: the kernel does not take the MTU of the network.
 * - `NOT_MOVED`: the kernel does not move the link into the Pod.
 *
 * The message names network, field, rule and next step.
 */
export type FunctionErrorCode =
    "NO_KUBELET" | "TOO_FEW" | "NOT_OF_POD" | "NO_LINK" | "HELD" | "NOT_KEPT" | "BAD_MTU" | "NOT_MOVED";

const kinds: Readonly<Record<FunctionErrorCode, readonly [Fault, ErrorCodeName]>> = {
    NO_KUBELET: ["timeout", "TRY_AGAIN_LATER"],
    TOO_FEW: ["caller", "INVALID_NETWORK_CONFIG"],
    NOT_OF_POD: ["caller", "INVALID_NETWORK_CONFIG"],
    NO_LINK: ["environment", "TRY_AGAIN_LATER"],
    HELD: ["timeout", "TRY_AGAIN_LATER"],
    NOT_KEPT: ["environment", "TRY_AGAIN_LATER"],
    BAD_MTU: ["caller", "INVALID_NETWORK_CONFIG"],
    NOT_MOVED: ["environment", "TRY_AGAIN_LATER"],
};

/** Failure to give a Pod a virtual function; the fault follows from the code. */
export class FunctionError extends AntreaError<FunctionErrorCode> {
    constructor(code: FunctionErrorCode, message: string, options: { readonly cause?: unknown } = {}) {
        super(code, kinds[code][0], message, options);
    }
}

/** The code of the CNI error result for a FunctionError, also as the cause of another error; undefined for other errors. */
export function functionErrorCode(error: unknown): ErrorCodeName | undefined {
    if (error instanceof FunctionError) return kinds[error.code][1];
    return error instanceof Error && error.cause instanceof FunctionError ? kinds[error.cause.code][1] : undefined;
}
