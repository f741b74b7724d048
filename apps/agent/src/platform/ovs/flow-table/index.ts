export { EarlierFlows, type EarlierFlowsComponents } from "./earlier-flows.ts";
export { type CookieFilter, type FlowLink } from "./flow-link.ts";
export { FlowTable, type FlowTableComponents, type OwnerChange } from "./flow-table.ts";
export { FlowRestore, type FlowRestoreComponents } from "./flow-restore.ts";
export { type FlowIdentity, type FlowSource } from "./owned-flows.ts";
