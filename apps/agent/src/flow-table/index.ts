export { FlowTable, type FlowLink, type FlowTableComponents } from "./flow-table.ts";
