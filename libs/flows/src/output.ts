import { type Action, type Flow } from "@antrea/openflow";
import { load, OutputKind, partsAre, Reg } from "./registers.ts";
import { Priority, Table } from "./tables.ts";

/** Sends to the chosen port. OVS sends nothing back to the port it came from, which is right for all we forward. */
export function outputFlow(): Flow {
    return {
        table: Table.Output,
        priority: Priority.normal,
        match: partsAre([Reg.outputKind, OutputKind.port]),
        actions: [{ type: "output_field", source: Reg.outputPort }],
    };
}

/** The actions that choose the port which the table Output sends to. */
export function choosePort(ofPort: number): Action[] {
    return [load(Reg.outputPort, ofPort), load(Reg.outputKind, OutputKind.port)];
}

/** The rest of a flow that has chosen the port and is done with the packet. */
export function sendTo(ofPort: number): Pick<Flow, "actions"> & { readonly gotoTable: number } {
    return { actions: choosePort(ofPort), gotoTable: Table.Output };
}
