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
export { type Gateway, type PeerNodeInput, type PipelineInput, type PodInput } from "./inputs.ts";
export { peerNodeFlows, pipelineFlows, podFlows } from "./pipeline.ts";
export { OfPort, podOfPorts } from "./ports.ts";
export { CtMark, OutputKind, Reg, Source } from "./registers.ts";
export { Priority, Table, tableName, type TableId, type TableName } from "./tables.ts";
