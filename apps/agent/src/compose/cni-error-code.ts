import type { ErrorCodeName } from "@antrea/cni";
import { AntreaError, isErrorOf } from "@antrea/errors";
import { OpenFlowError } from "@antrea/openflow";
import { OvsdbError } from "@antrea/ovsdb";
import { NodeConfigError } from "../platform/node/config/index.ts";
import { IpPoolError, type IpPoolErrorCode } from "../features/ip-pools/index.ts";
import { NodeSubnetError, PodNetworkError, type NodeSubnetErrorCode } from "../features/pod-network/index.ts";

/**
 * IPAM_FAILURE if an administrator must change the pools, TRY_AGAIN_LATER if the next call may succeed without that.
 */
const poolCodes: Readonly<Record<IpPoolErrorCode, ErrorCodeName>> = {
    EXHAUSTED: "IPAM_FAILURE",
    NO_POOL: "IPAM_FAILURE",
    POOL_DELETED: "IPAM_FAILURE",
    BAD_ANNOTATION: "IPAM_FAILURE",
    NOT_IN_POOL: "IPAM_FAILURE",
    ADDRESS_HELD: "IPAM_FAILURE",
    NOT_RESERVED: "TRY_AGAIN_LATER",
    HELD_ON_OTHER_NODE: "IPAM_FAILURE",
    VLAN_CONFLICT: "IPAM_FAILURE",
    POOL_CHANGED: "TRY_AGAIN_LATER",
    POD_GONE: "TRY_AGAIN_LATER",
    POD_UNKNOWN: "TRY_AGAIN_LATER",
    NODE_GONE: "TRY_AGAIN_LATER",
    API_AWAY: "TRY_AGAIN_LATER",
    REFUSED: "IPAM_FAILURE",
};

const subnetCodes: Readonly<Record<NodeSubnetErrorCode, ErrorCodeName>> = {
    CLAIMS_UNKNOWN: "TRY_AGAIN_LATER",
    EXHAUSTED: "IPAM_FAILURE",
    NO_SUBNET: "IPAM_FAILURE",
    TAKEN: "IPAM_FAILURE",
};

/**
 * The code of the CNI error result for an error in ADD, DEL or GC. Determined by the class of the error, since classes
 * of different libraries have codes of the same name.
 */
export function cniErrorCode(error: unknown): ErrorCodeName {
    if (error instanceof IpPoolError) return poolCodes[error.code];
    if (error instanceof NodeSubnetError) return subnetCodes[error.code];
    if (isErrorOf(PodNetworkError, error, "SECOND_INTERFACE")) return "INVALID_NETWORK_CONFIG";
    if (isErrorOf(PodNetworkError, error, "OTHERS_NETNS")) return "INVALID_ENVIRONMENT_VARIABLES";
    // The Node is gone or has no podCIDRs, and the agent waits for them: the same as before it has any.
    if (error instanceof NodeConfigError) return "TRY_AGAIN_LATER";
    // OVS or its database became unavailable during the call: a retry may succeed when they are back.
    if ((error instanceof OpenFlowError || error instanceof OvsdbError) && error.retryable) return "TRY_AGAIN_LATER";
    if (error instanceof AntreaError && (error.fault === "timeout" || error.fault === "aborted")) {
        return "TRY_AGAIN_LATER";
    }
    return "CONFIG_INTERFACE_FAILURE";
}
