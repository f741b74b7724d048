import { type Action, type Flow } from "@antrea/openflow";
import { load, Reg, type Source } from "./registers.ts";
import { type NextTable } from "./part.ts";
import { Priority, Table } from "./tables.ts";

/** Marks what a port sends with who is behind it, and with `more` that is known of it. A port without such a flow is unknown: its packets are dropped. */
export function classifierFlow(
    next: NextTable,
    {
        ofPort,
        source,
        more = [],
    }: { readonly ofPort: number; readonly source: Source; readonly more?: readonly Action[] },
): Flow {
    return {
        table: Table.Classifier,
        priority: Priority.normal,
        match: { in_port: ofPort },
        actions: [load(Reg.source, source), ...more],
        gotoTable: next.after("Classifier"),
    };
}
