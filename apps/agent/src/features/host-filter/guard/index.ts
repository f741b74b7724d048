/** The host input filter for Pod frames on the userspace datapath. */
export { HostGuard, type HostGuardComponents, type HostGuardOptions } from "./host-guard.ts";
export { tableName as guardTableName } from "./host-guard.ts";
