export { findTransport, gatewayIpOf, NodeConfigError, type NodeConfig, type TransportInput } from "./node-config.ts";
export { awaitOwnNode, refuseOtherPodCidrs, type OwnNodeComponents, type OwnNodeOptions } from "./own-node.ts";
export { formatRemembered, parseRemembered, rememberedNodeKey } from "./remembered.ts";
