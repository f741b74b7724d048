/** Keeps the status of IPPools, and the Nodes' own addresses and gateways out of them. */
export { IpPools, type IpPoolsComponents, type IpPoolsOptions } from "./ip-pools.ts";
