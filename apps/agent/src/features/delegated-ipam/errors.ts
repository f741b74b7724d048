import type { ErrorCodeName } from "@antrea/cni";
import { AntreaError } from "@antrea/errors";

/**
 * Failure of a call for addresses of an interface that another CNI plugin makes:
 *
 * - `OTHERS_SANDBOX`: the container has no interface on the Pod network that this agent made.
 * - `OWN_INTERFACE`: the interface is one that this agent makes, or the loopback interface.
 * - `ALLOCATION`: the allocations differ from the result of ADD (CHECK).
 *
 * The message names the network, the rule and the next step.
 */
export class DelegatedIpamError extends AntreaError<"OTHERS_SANDBOX" | "OWN_INTERFACE" | "ALLOCATION"> {}

const codes: Readonly<Record<DelegatedIpamError["code"], ErrorCodeName>> = {
    OTHERS_SANDBOX: "IPAM_FAILURE",
    OWN_INTERFACE: "INVALID_ENVIRONMENT_VARIABLES",
    ALLOCATION: "CHECK_INTERFACE_FAILURE",
};

/** The code of the CNI error result for a DelegatedIpamError; undefined for other errors. */
export function delegatedErrorCode(error: unknown): ErrorCodeName | undefined {
    return error instanceof DelegatedIpamError ? codes[error.code] : undefined;
}
