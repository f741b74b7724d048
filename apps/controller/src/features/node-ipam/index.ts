/** Assigns every Node its podCIDRs (Node.spec.podCIDRs). */
export { NodeIpam, type NodeIpamComponents, type NodeIpamOptions } from "./node-ipam.ts";
export { PoolAddresses } from "./pool-addresses.ts";
