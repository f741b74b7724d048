export { findTransport, gatewayIpOf, NodeConfigError, type NodeConfig, type TransportInput } from "./node-config.ts";
export {
    awaitOwnNode,
    followOwnNode,
    type OwnNodeComponents,
    type OwnNodeFollowerComponents,
    type OwnNodeOptions,
} from "./own-node.ts";
export { OwnSubnet, type OwnSubnetComponents } from "./own-subnet.ts";
export { formatCachedNode, parseGoneAt, parseCachedNode, cachedNodeAfter, cachedNodeKey } from "./cached-node.ts";
