import { Category } from "../cookies.ts";
import { anyArp } from "../fields.ts";
import { type PipelinePart } from "../part.ts";
import { Priority, Table } from "../tables.ts";

/**
 * Part of the pipeline of a switch that has had all Services: a flow that no packet matches, since only IP packets come to
 * its table. By its category a later start of the agent recognizes that what the switch has are all Services, as last
 * known, not those that a start had sent before it was killed. It is lost with all other flows when the switch restarts.
 */
export const completePart: PipelinePart = {
    tables: [],
    category: Category.servicesComplete,
    flows: () => [{ table: Table.ServiceLb, priority: Priority.last, match: anyArp, actions: [] }],
};
