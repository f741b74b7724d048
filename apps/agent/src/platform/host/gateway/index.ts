export { Gateway, GatewayError, type GatewayOptions, type GatewayPorts } from "./gateway.ts";
export { NodeSysctls, type NodeSysctlsOptions } from "./node-sysctls.ts";
export { mayHaveLostRoutes } from "./lost-routes.ts";
