/** The tunnel port of the bridge, and its flows. */
export { tunnelPipeline } from "./pipeline.ts";
export { removeTunnelPorts, TunnelPort, type TunnelPortOptions, type TunnelPorts } from "./tunnel-port.ts";
