/** Bridged Pods: the state that Pods with IPPool addresses have in bridging mode in addition to their own flows. */
export { BridgedPods, type BridgedPodsComponents } from "./bridged-pods.ts";
export { ServiceRoute, serviceSources } from "./service-route.ts";
