/** A NIC of the Node as a port of a bridge, with a host port in its place, and its rollback. */
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
export { restoreUplink, type RestoreUplinkOptions } from "./restore-command.ts";
export { nodeUplink, type UplinkPlatform } from "./node-uplink.ts";
export { movedNics, nicFolder } from "./nic-folders.ts";
export { isPhysicalNameOf } from "./names.ts";
