import { type Action, type Flow } from "@antrea/openflow";
import { load, OutputKind, partsAre, Reg } from "./registers.ts";
import { type NextTable, type PipelinePart } from "./part.ts";
import { Priority, Table } from "./tables.ts";

export const outputTables = [{ table: "Output", stage: "output", miss: "drop" }] as const;

export const outputPart: PipelinePart = { tables: outputTables, flows: () => [outputFlow()] };

/** Sends to the chosen port. OVS sends nothing back to the port it came from, which is right for all we forward. */
function outputFlow(): Flow {
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
export function sendTo(next: NextTable, ofPort: number): Pick<Flow, "actions"> & { readonly gotoTable: number } {
    return { actions: choosePort(ofPort), gotoTable: next.into("output") };
}
