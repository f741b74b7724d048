export { holderText, isKnownOwner, ownerText, readClaim, type Claim } from "./claim.ts";
export { Cluster, type ClaimSelector, type NamespaceInfo } from "./cluster.ts";
export { eventsOf, type EventInfo } from "./event.ts";
export { agentSelector, gateIn, readGate, type Gate } from "./gate.ts";
export { type NodeInfo } from "./node.ts";
export { hasOwnAddress, ipamAnnotations, isFinished, readPod, type OwnerReference, type PodInfo } from "./pod.ts";
export { type TemplateInfo, type WorkloadInfo } from "./workload.ts";
