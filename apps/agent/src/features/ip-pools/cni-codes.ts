import type { ErrorCodeName } from "@antrea/cni";
import { IpPoolError, type IpPoolErrorCode } from "./errors.ts";

/**
 * IPAM_FAILURE if an administrator must change the pools, TRY_AGAIN_LATER if the next call may succeed without that.
 */
const codes: Readonly<Record<IpPoolErrorCode, ErrorCodeName>> = {
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
    DELETED_MEANWHILE: "IPAM_FAILURE",
    API_AWAY: "TRY_AGAIN_LATER",
    REFUSED: "IPAM_FAILURE",
};

/**
 * The code of the CNI error result for an IpPoolError: IPAM_FAILURE if an administrator must change the pools,
 * TRY_AGAIN_LATER if the next call may succeed without that; undefined for other errors.
 */
export function poolErrorCode(error: unknown): ErrorCodeName | undefined {
    return error instanceof IpPoolError ? codes[error.code] : undefined;
}
