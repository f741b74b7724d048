export { BridgeDevice } from "./bridge-device.ts";
export { vswitchdAck, configurationColumns, type VswitchdAckLimits } from "./vswitchd-ack.ts";
export { removeIfDeviceIsLost } from "./lost-device.ts";
export { OvsBridgeError, type PortRefusal } from "./bridge-error.ts";
export { OvsBridge, type OvsBridgeOptions, type OvsPort, type PortSpec } from "./ovs-bridge.ts";
export { monitoredColumns, type OvsDatabase } from "./ovs-database.ts";
export {
    ownSwitchBridges,
    SwitchBridge,
    type AccessPort,
    type SwitchBridges,
    type SwitchPort,
} from "./switch-bridge.ts";
export { NicBridge, nicBridgeKey, nicsWithBridges, type NicBridgeOptions, type PatchPort } from "./nic-bridge.ts";
export { formatRounds, nextRounds, roundsKey, type Rounds } from "./rounds.ts";
export { secondaryBridgeKey, type SwitchBridgeOptions } from "./switch-rows.ts";
