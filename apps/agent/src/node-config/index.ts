export {
    findTransport,
    gatewayIpOf,
    internalIpsOf,
    NodeConfigError,
    podPrefixesOf,
    type NodeConfig,
    type NodeObject,
    type TransportInput,
} from "./node-config.ts";
export { awaitOwnNode, refuseOtherPodCidrs, type OwnNodeComponents, type OwnNodeOptions } from "./own-node.ts";
export { formatRemembered, parseRemembered, rememberedNodeKey } from "./remembered.ts";
