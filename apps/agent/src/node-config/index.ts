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
