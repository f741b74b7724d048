import { type Flow } from "@antrea/openflow";
import { macToBigint } from "@antrea/ip";
import { type Station } from "./arp.ts";
import { load, OutputKind, Reg } from "./registers.ts";
import { Priority, Table } from "./tables.ts";

/** A station's MAC address leads to its port. Frames for an address that no station has are dropped, never flooded. */
export function l2Flow({ ofPort, mac }: Pick<Station, "ofPort" | "mac">): Flow {
    return {
        table: Table.L2Forwarding,
        priority: Priority.normal,
        match: { eth_dst: macToBigint(mac) },
        actions: [load(Reg.outputPort, ofPort), load(Reg.outputKind, OutputKind.port)],
        gotoTable: Table.ConntrackCommit,
    };
}
