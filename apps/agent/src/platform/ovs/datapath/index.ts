/** The differences between the datapaths of Open vSwitch, `system` (kernel) and `netdev` (userspace). */
export { datapathOf, maxTunnelMtu, type Datapath, type DatapathType, type TunnelType } from "./datapath.ts";
export { DatapathError, UnixctlError, type DatapathErrorCode, type UnixctlErrorCode } from "./errors.ts";
export { datapathCondition, DatapathProbe, type DatapathProbeComponents, type DatapathProbeOptions } from "./probe.ts";
export { bridgeRows, tunnelBridgeProblem, type BridgeRows, type InterfaceRow } from "./tunnel-bridge.ts";
export { checkTunnelType, refusedTunnelPort } from "./tunnel-types.ts";
export { Unixctl, type UnixctlOptions } from "./unixctl.ts";
