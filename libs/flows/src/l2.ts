import { type Flow, type Match } from "@antrea/openflow";
import { macToBigint } from "@antrea/ip";
import { type Station } from "./arp.ts";
import { choosePort } from "./output.ts";
import { OutputKind, partsAre, Reg } from "./registers.ts";
import { Priority, Table } from "./tables.ts";

/** A station's MAC address leads to its port. Frames for an address that no station has are dropped, never flooded. */
export function l2Flow({ ofPort, mac }: Pick<Station, "ofPort" | "mac">): Flow {
    return l2(Priority.normal, { eth_dst: macToBigint(mac) }, choosePort(ofPort));
}

/**
 * In bridging mode a port may be chosen before, by address and VLAN. What bridged Pods send to MAC addresses that no
 * station here has is for the underlay.
 */
export function bridgingL2Flows(uplinkOfPort: number): Flow[] {
    return [
        l2(Priority.high, partsAre([Reg.outputKind, OutputKind.port]), []),
        l2(Priority.low, partsAre([Reg.bridged, 1]), choosePort(uplinkOfPort)),
    ];
}

function l2(priority: number, match: Match, actions: Flow["actions"]): Flow {
    return { table: Table.L2Forwarding, priority, match, actions, gotoTable: Table.ConntrackCommit };
}
