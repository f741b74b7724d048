export { bridgedPeerFlows } from "./bridged-forwarding.ts";
export { bridgingParts, bridgingTables } from "./bridging.ts";
export { connectionZone } from "./conntrack.ts";
export {
    Category,
    cookie,
    categoryMask,
    cookieOf,
    nextRound,
    objectMask,
    reservedMask,
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
    type ServicesInput,
    type TunnelInput,
    type TunnelPeerInput,
    type VlanInput,
} from "./inputs.ts";
export { maxVlan } from "./check-inputs.ts";
export { nodeParts, nodeTables } from "./node.ts";
export { type NextTable, type PipelinePart, type Stage, type TableUse } from "./part.ts";
export { Pipeline } from "./pipeline.ts";
export { podFlows } from "./pods.ts";
export { OfPort, podOfPorts } from "./ports.ts";
export { CtMark, OutputKind, Reg, Source } from "./registers.ts";
export { nodePortAddress, serviceMac, serviceSource } from "./services/addresses.ts";
export { learnedCookie } from "./services/affinity.ts";
export { learnedMatches } from "./services/learned-matches.ts";
export { rejectMeter, rejectUserdata } from "./services/load-balancer.ts";
export { nodeAddressFlows, type NodeAddresses } from "./services/node-ports.ts";
export { serviceParts } from "./services/part.ts";
export { servicePortFlows, type ServicePortFlows, type ServicePortInput } from "./services/service-port.ts";
export { serviceTables } from "./services/tables.ts";
export { Priority, Table, type TableId, type TableName } from "./tables.ts";
export { tunnelMac, tunnelPart, tunnelPeerFlows } from "./tunnel.ts";
export { vlanFlows } from "./underlay.ts";
