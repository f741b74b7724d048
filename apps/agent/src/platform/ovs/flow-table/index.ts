export { EarlierFlows, type EarlierFlowsComponents } from "./earlier-flows.ts";
export { inBundles, ofCategory, type CookieFilter, type FlowLink } from "./flow-link.ts";
export type { FlowOwner } from "./flow-owner.ts";
export { FlowTable, type FlowTableComponents } from "./flow-table.ts";
export { FlowRestore, type FlowRestoreComponents } from "./flow-restore.ts";
export { type FlowIdentity, type FlowsAndGroups, type FlowSource } from "./owned-flows.ts";
export { type EarlierReader, type EarlierState } from "./earlier-rounds.ts";
export { type OwnerChange } from "./step.ts";
