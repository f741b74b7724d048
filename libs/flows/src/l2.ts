import { type Flow, type Match } from "@antrea/openflow";
import { macToBigint } from "@antrea/ip";
import { type Station } from "./arp.ts";
import { type PipelineInput } from "./inputs.ts";
import { choosePort } from "./output.ts";
import { OutputKind, partsAre, Reg } from "./registers.ts";
import { type NextTable, type PipelinePart } from "./part.ts";
import { Priority, Table } from "./tables.ts";

/** Flow table of layer 2 forwarding, for `Pipeline`; it drops frames to unknown MAC addresses. */
export const l2Tables = [{ table: "L2Forwarding", stage: "switching", miss: "drop" }] as const;

/** Pipeline part that forwards frames with the gateway's MAC address to its port. */
export function l2Part({ gateway }: Pick<PipelineInput, "gateway">): PipelinePart {
    return { tables: l2Tables, flows: (next) => [l2Flow(next, gateway)] };
}

/**
 * Flow that forwards frames by a station's MAC address to its port. Frames to unknown addresses are dropped, never
 * flooded. Throws IpError `INVALID_MAC` unless the MAC address has 6 bytes.
 */
export function l2Flow(next: NextTable, { ofPort, mac }: Pick<Station, "ofPort" | "mac">): Flow {
    return l2(next, Priority.normal, { eth_dst: macToBigint(mac) }, choosePort(ofPort));
}

/**
 * Layer 2 flows of bridging mode: keep a port that an earlier table chose by address and VLAN, and forward frames of
 * bridged Pods to MAC addresses that are not on this Node to the underlay.
 */
export function bridgingL2Flows(next: NextTable, uplinkOfPort: number): Flow[] {
    return [
        l2(next, Priority.high, partsAre([Reg.outputKind, OutputKind.port]), []),
        l2(next, Priority.low, partsAre([Reg.bridged, 1]), choosePort(uplinkOfPort)),
    ];
}

function l2(next: NextTable, priority: number, match: Match, actions: Flow["actions"]): Flow {
    return { table: Table.L2Forwarding, priority, match, actions, gotoTable: next.after("L2Forwarding") };
}
