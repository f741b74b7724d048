/** Keeps the Nodes' own addresses and gateways from Pods. */
export { nodeAddresses } from "./feature.ts";
