/** The host input filter for Pod frames on the userspace datapath. */
export { HostInputFilter, type HostInputFilterComponents, type HostInputFilterOptions } from "./host-guard.ts";
export { tableName as guardTableName } from "./host-guard.ts";
