import type { ErrorCodeName } from "@antrea/cni";
import { isErrorOf } from "@antrea/errors";
import { PodNetworkError } from "./errors.ts";
import { NodeSubnetError, type NodeSubnetErrorCode } from "./node-subnet.ts";

const subnetCodes: Readonly<Record<NodeSubnetErrorCode, ErrorCodeName>> = {
    ALLOCATIONS_UNKNOWN: "TRY_AGAIN_LATER",
    EXHAUSTED: "IPAM_FAILURE",
    NO_SUBNET: "IPAM_FAILURE",
    TAKEN: "IPAM_FAILURE",
};

/** The code of the CNI error result for an error of Pod wiring; undefined for other errors. */
export function wiringErrorCode(error: unknown): ErrorCodeName | undefined {
    if (error instanceof NodeSubnetError) return subnetCodes[error.code];
    if (isErrorOf(PodNetworkError, error, "SECOND_INTERFACE", "OTHERS_SANDBOX") || isOfNetwork(error))
        return "INVALID_NETWORK_CONFIG";
    if (isErrorOf(PodNetworkError, error, "OTHERS_NETNS")) return "INVALID_ENVIRONMENT_VARIABLES";
    return undefined;
}

/** Whether the error is a rule that the networks of a Pod break, found while its interfaces were made. */
function isOfNetwork(error: unknown): boolean {
    return isErrorOf(PodNetworkError, error, "BAD_ROUTE", "VLANS_APART", "LOW_MTU", "FUNCTION_NOT_TAKEN");
}
