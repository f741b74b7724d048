export { Gateway, GatewayError, type GatewayOptions, type GatewayPorts } from "./gateway.ts";
