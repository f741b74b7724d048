/** The tunnel port of the bridge. */
export { removeTunnelPorts, TunnelPort, type TunnelPortOptions, type TunnelPorts } from "./tunnel-port.ts";
