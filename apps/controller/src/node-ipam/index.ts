/** Gives every Node its Pod CIDRs (Node.spec.podCIDRs). */
export { NodeIpam, type NodeIpamComponents, type NodeIpamOptions } from "./node-ipam.ts";
export { type NodeIpamSettings } from "./types.ts";
export { PoolAddresses } from "./pool-addresses.ts";
