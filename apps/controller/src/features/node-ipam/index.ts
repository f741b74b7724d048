/** Assigns every Node its podCIDRs (Node.spec.podCIDRs). */
export { nodeIpam } from "./feature.ts";
export { NodeIpam, type NodeIpamComponents, type NodeIpamOptions } from "./node-ipam.ts";
export { PoolAddresses } from "./pool-addresses.ts";
