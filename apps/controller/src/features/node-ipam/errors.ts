import { AntreaError } from "@antrea/errors";

/**
 * - `TOO_MANY_SUBNETS`: the configured prefixes contain more subnets than can be tracked.
 * - `MASK_SIZE`: a Node's subnet would be larger than the cluster's prefix, or its length is more than the family has.
 * - `LEDGER_LOST`: another controller took over the ledger; this one must not assign subnets.
 * - `LEDGER_FULL`: the ledger does not fit into one ConfigMap.
 * - `NODE_CHANGED`: a Node was not as expected when its podCIDRs were written; it is processed again.
 */
export type NodeIpamErrorCode = "TOO_MANY_SUBNETS" | "MASK_SIZE" | "LEDGER_LOST" | "LEDGER_FULL" | "NODE_CHANGED";

/** An error of NodeIPAM: see NodeIpamErrorCode. The message names the prefix, Node or ConfigMap. */
export class NodeIpamError extends AntreaError<NodeIpamErrorCode> {}
