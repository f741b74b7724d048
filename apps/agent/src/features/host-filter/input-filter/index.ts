/** The host input filter for Pod frames on the userspace datapath. */
export { HostInputFilter, type HostInputFilterComponents, type HostInputFilterOptions } from "./host-input-filter.ts";
export { tableName as guardTableName } from "./host-input-filter.ts";
