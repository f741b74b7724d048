import { type Action, type Flow } from "@antrea/openflow";
import { load, Reg, type Source } from "./registers.ts";
import { type NextTable } from "./part.ts";
import { Priority, Table } from "./tables.ts";

/**
 * Flow that records the source of packets from a port in `Reg.source`. IP packets from a port without such a flow are
 * dropped.
 *
 * @param more further actions
 */
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
