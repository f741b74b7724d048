export { holderText, isDelegated, isKnownOwner, ownerText, readAllocation, type Allocation } from "./allocation.ts";
export { Cluster, type AllocationSelector, type NamespaceInfo } from "./cluster.ts";
export { eventsOf, readEvent, type EventInfo } from "./event.ts";
export { agentSelector, gateIn, readAgentConfig, readGate, type AgentConfigText, type Gate } from "./gate.ts";
export { type NodeInfo } from "./node.ts";
export {
    hasOwnAddress,
    ipamAnnotations,
    isFinished,
    readAddress,
    readPod,
    type OwnerReference,
    type PodInfo,
} from "./pod.ts";
export { type TemplateInfo, type WorkloadInfo } from "./workload.ts";
