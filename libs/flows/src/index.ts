export {
    Category,
    cookie,
    cookieOf,
    nextRound,
    objectMask,
    roundMask,
    withCookies,
    type CookieParts,
    type FlowSet,
} from "./cookies.ts";
export { FlowsError } from "./error.ts";
export {
    type BridgedPeerInput,
    type BridgedPod,
    type BridgingInput,
    type Gateway,
    type PipelineInput,
    type PodInput,
    type TunnelPeerInput,
    type VlanInput,
} from "./inputs.ts";
export { isLearnedFlow } from "./learned.ts";
export { bridgedPeerFlows, pipelineFlows, podFlows, tunnelPeerFlows, vlanFlows } from "./pipeline.ts";
export { OfPort, podOfPorts } from "./ports.ts";
export { CtMark, OutputKind, Reg, Source } from "./registers.ts";
export { serviceSource } from "./service-snat.ts";
export { Priority, Table, tableName, type TableId, type TableName } from "./tables.ts";
export { tunnelMac } from "./tunnel.ts";
