export { EarlierFlows, type EarlierFlowsComponents } from "./earlier-flows.ts";
export { FlowTable, type FlowLink, type FlowTableComponents } from "./flow-table.ts";
export { FlowRestore, type FlowRestoreComponents } from "./flow-restore.ts";
