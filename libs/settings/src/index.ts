export { loadAgentConfig } from "./agent/load.ts";
export { type AgentConfig } from "./agent/schema.ts";
export { configuredServices, servesServices, type ConfiguredServices, type ServicesConfig } from "./agent/services.ts";
export { loadControllerConfig } from "./controller/load.ts";
export { type ControllerConfig } from "./controller/schema.ts";
export { documentValue, type DocumentValue } from "./document-value.ts";
export { SettingsError, type Finding, type SettingsErrorCode } from "./errors.ts";
export {
    FeatureGates,
    readFeatureGates,
    type GateReport,
    type GatesResult,
    type GateStatus,
} from "./features/gates.ts";
export { gateSpecs, type Component, type FeatureGateName, type GateSpec, type GateStage } from "./features/specs.ts";
export { apiServer } from "./leaves/server.ts";
export { type DurationMs } from "./leaves/duration.ts";
export { type Loaded } from "./load.ts";
export { type TlsVersion } from "./tls.ts";
