/** Reserves the Nodes' own addresses and gateways. */
export { nodeAddresses } from "./feature.ts";
