import { isErrorOf } from "@antrea/errors";
import { OfPort, tunnelPart } from "@antrea/flows";
import type { NodePlatform } from "../../../platform/node-platform.ts";
import { OvsBridgeError } from "../../../platform/ovs/bridge/index.ts";
import { checkTunnelType, refusedTunnelPort } from "../../../platform/ovs/datapath/index.ts";
import type { FeaturePipeline } from "../../../platform/ovs/pipeline.ts";
import { patientMs } from "../../../platform/platform.ts";
import { removeTunnelPorts, TunnelPort } from "./tunnel-port.ts";

/**
 * The flows of the tunnel in the pipeline. `parts` creates the tunnel port, or in mode noEncap removes one that a start
 * in another mode left. It rejects with DatapathError `NO_TUNNEL_TYPE` if OVS does not support the tunnel type or
 * refuses the port, and with OvsdbError, also if OVS does not answer in time or the signal aborts.
 */
export function tunnelPipeline({
    config,
    mode,
    bridge,
    database,
    datapath,
    pipelineInput,
}: Pick<NodePlatform, "config" | "mode" | "bridge" | "database" | "datapath" | "pipelineInput">): FeaturePipeline {
    const { tunnelType } = config;
    if (mode === "noEncap") {
        return {
            tables: [],
            parts: async (limit) => {
                await removeTunnelPorts(bridge, limit);
                return [];
            },
        };
    }
    const port = new TunnelPort(
        { ports: bridge },
        { ofPort: OfPort.tunnel, type: tunnelType, destinationPort: config.tunnelPort, csum: config.tunnelCsum },
    );
    const ensure = async (limit: AbortSignal): Promise<number> => {
        await checkTunnelType(database, { datapath, tunnelType }, { timeoutMs: patientMs, signal: limit });
        try {
            return await port.ensure(limit);
        } catch (error) {
            if (!isErrorOf(OvsBridgeError, error, "PORT_REFUSED")) throw error;
            throw refusedTunnelPort(datapath, tunnelType, error);
        }
    };
    return { tables: [], parts: async (limit) => [tunnelPart({ ofPort: await ensure(limit), ...pipelineInput() })] };
}
