import type { ErrorCodeName } from "@antrea/cni";
import { AntreaError, type Fault } from "@antrea/errors";
import { NetworkError } from "@antrea/networks";

/**
 * Why a Pod cannot get the networks that it requests:
 *
 * - `NO_NETWORK`: a network does not exist, or its definition (CRD) is not installed.
 * - `NO_BRIDGE`: there is no bridge for networks, or no NIC of it is connected; retry.
 * - `NO_POOLS`: a network has IPAM, and the feature gate AntreaIPAM is off.
 * - `BAD_MTU`: the MTU of a network is above that of the NICs.
 * - `BAD_REQUEST`: what the Pod requests of a network does not fit to it.
 * - `NO_DEVICE`: no device was looked for, for a network of type sriov.
 * - `API_AWAY`: the API server did not answer in time; retry.
 * - `NO_POD`: the API server does not have the Pod; retry.
 * - `NO_FOLDER`: the CNI folder of the Node cannot be read; retry.
 *
 * The message names network, field, rule and next step.
 */
export type NetworksErrorCode =
    | "NO_NETWORK"
    | "NO_BRIDGE"
    | "NO_POOLS"
    | "BAD_MTU"
    | "BAD_REQUEST"
    | "NO_DEVICE"
    | "API_AWAY"
    | "NO_POD"
    | "NO_FOLDER";

/** The next step of what fails as the API server does not answer, as part of a sentence. */
export const untilApiAnswers = "wait, as the kubelet tries again; if it stays so, see whether the API server is up";

const faults: Readonly<Record<NetworksErrorCode, Fault>> = {
    NO_NETWORK: "caller",
    NO_BRIDGE: "timeout",
    NO_POOLS: "caller",
    BAD_MTU: "caller",
    BAD_REQUEST: "caller",
    NO_DEVICE: "internal",
    API_AWAY: "timeout",
    NO_POD: "timeout",
    NO_FOLDER: "environment",
};

/** Failure to find or judge the networks of a Pod; the fault follows from the code. */
export class NetworksError extends AntreaError<NetworksErrorCode> {
    constructor(code: NetworksErrorCode, message: string, options: { readonly cause?: unknown } = {}) {
        super(code, faults[code], message, options);
    }
}

const codes: Readonly<Record<NetworksErrorCode, ErrorCodeName>> = {
    NO_NETWORK: "INVALID_NETWORK_CONFIG",
    NO_BRIDGE: "TRY_AGAIN_LATER",
    NO_POOLS: "INVALID_NETWORK_CONFIG",
    BAD_MTU: "INVALID_NETWORK_CONFIG",
    BAD_REQUEST: "INVALID_NETWORK_CONFIG",
    NO_DEVICE: "TRY_AGAIN_LATER",
    API_AWAY: "TRY_AGAIN_LATER",
    NO_POD: "TRY_AGAIN_LATER",
    NO_FOLDER: "TRY_AGAIN_LATER",
};

/** The code of the CNI error result for a failure about the networks of a Pod; undefined for other errors. */
export function networksErrorCode(error: unknown): ErrorCodeName | undefined {
    if (error instanceof NetworkError) return "INVALID_NETWORK_CONFIG";
    return error instanceof NetworksError ? codes[error.code] : undefined;
}
