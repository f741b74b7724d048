export { readAgents, type AgentComponents, type AgentRead, type RunInOvs } from "./agents.ts";
export { readPorts, type PortRecord, type RecordAddress } from "./ports.ts";
export { RecordReader, type NodeRead } from "./record-reader.ts";
