import { Port, type Action, type Flow } from "@antrea/openflow";
import { load, OutputKind, partsAre, Reg } from "./registers.ts";
import { type NextTable, type PipelinePart } from "./part.ts";
import { Priority, Table } from "./tables.ts";

/** Flow table that sends packets to the chosen port, for `Pipeline`; packets without one are dropped. */
export const outputTables = [{ table: "Output", stage: "output", miss: "drop" }] as const;

/** Pipeline part that sends packets to the port in `Reg.outputPort`. */
export const outputPart: PipelinePart = { tables: outputTables, flows: () => [outputFlow()] };

/** OVS does not send a packet back to its ingress port this way, which is right for all traffic but that of Services. */
function outputFlow(): Flow {
    return {
        table: Table.Output,
        priority: Priority.normal,
        match: partsAre([Reg.outputKind, OutputKind.port]),
        actions: [{ type: "output_field", source: Reg.outputPort }],
    };
}

/** Flow that sends packets back to the port that they came from. */
export const inPortFlow: Flow = {
    table: Table.Output,
    priority: Priority.high,
    match: partsAre([Reg.outputKind, OutputKind.inPort]),
    actions: [{ type: "output", port: Port.IN_PORT }],
};

/** Actions that choose the port to which the table Output sends; its number is not checked. */
export function choosePort(ofPort: number): Action[] {
    return [load(Reg.outputPort, ofPort), load(Reg.outputKind, OutputKind.port)];
}

/**
 * Actions and next table of a flow that chooses the port and needs no further table before Output. Throws FlowsError
 * `PIPELINE` if the table Output is not in use.
 */
export function sendTo(next: NextTable, ofPort: number): Pick<Flow, "actions"> & { readonly gotoTable: number } {
    return { actions: choosePort(ofPort), gotoTable: next.into("output") };
}
