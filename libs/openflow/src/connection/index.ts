export { OpenFlowConnection } from "./connection.ts";
export {
    defaultConnectionOptions,
    type BundleOptions,
    type CallOptions,
    type ConnectionComponents,
    type ConnectionLogger,
    type ConnectionOptions,
    type ConnectionState,
    type FlowFilter,
    type PacketInListener,
    type ReplayLink,
    type ReplayListener,
} from "./types.ts";
