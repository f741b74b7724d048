/** Pods with addresses of IPPools in bridging mode: what they have beside their own flows. */
export { Announcer, type AnnouncerComponents } from "./announcer.ts";
export { BridgedPods, type BridgedPodsComponents, type VlanFlowTable } from "./bridged-pods.ts";
export { ServiceRoute, serviceSources } from "./service-route.ts";
