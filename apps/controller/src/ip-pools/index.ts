/** Keeps the status of IPPools, and the Nodes' own addresses out of them. */
export { IpPools, type IpPoolsComponents, type IpPoolsOptions } from "./ip-pools.ts";
