/** The uplink of bridging mode: the Node's NIC as a port of the bridge, and its rollback. */
export { UplinkError, type UplinkErrorCode } from "./errors.ts";
export {
    type UplinkBridged,
    type UplinkComponents,
    type UplinkOptions,
    type UplinkPorts,
    type UplinkPortSpec,
    type UplinkRolledBack,
    type UplinkState,
} from "./types.ts";
export { Uplink } from "./uplink.ts";
export { UplinkReport, type UplinkCondition, type UplinkEvent } from "./report.ts";
export { restoreUplink, type RestoreUplinkOptions } from "./restore-command.ts";
