import { AntreaError } from "@antrea/errors";

/**
 * - `TOO_MANY_SUBNETS`: the configured prefixes make more subnets than can be kept track of.
 * - `MASK_SIZE`: a Node's subnet would be larger than the cluster's prefix.
 * - `LEDGER_LOST`: another controller took the ledger over; this one must not assign anything any more.
 * - `LEDGER_FULL`: the ledger does not fit into one ConfigMap.
 * - `NODE_CHANGED`: a Node was not as expected when its podCIDRs were written; it is looked at again.
 */
export type NodeIpamErrorCode = "TOO_MANY_SUBNETS" | "MASK_SIZE" | "LEDGER_LOST" | "LEDGER_FULL" | "NODE_CHANGED";

export class NodeIpamError extends AntreaError<NodeIpamErrorCode> {}
