import { type Flow } from "@antrea/openflow";
import { type Family } from "@antrea/ip";
import { Category, type FlowSet } from "./cookies.ts";
import { FlowsError } from "./error.ts";
import { mainStages, sideStages, type NextTable, type PipelinePart, type Stage, type TableUse } from "./part.ts";
import { Priority, Table, type TableId, type TableName } from "./tables.ts";

const order: readonly Stage[] = [...sideStages, ...mainStages];

/**
 * The tables in use and their order, computed from what features declare. The constructor throws FlowsError `PIPELINE`
 * if a table is declared twice, or the order of the main stages differs from that of table numbers (`goto_table` must
 * increase).
 */
export class Pipeline implements NextTable {
    readonly #tables: ReadonlyMap<TableName, TableUse>;
    /** In the order in which packets pass them. */
    readonly #path: readonly TableUse[];

    constructor(tables: readonly TableUse[]) {
        this.#tables = new Map(tables.map((use) => [use.table, use]));
        if (this.#tables.size !== tables.length)
            throw new FlowsError("PIPELINE", "internal", "a table is declared twice");
        this.#path = tables.toSorted((a, b) => position(a) - position(b));
        for (const [at, { table }] of this.#path.filter(isMain).entries()) {
            const follower = this.#path.filter(isMain)[at + 1]?.table;
            if (follower === undefined || Table[table] < Table[follower]) continue;
            throw new FlowsError("PIPELINE", "internal", `${follower} follows ${table}, but has the lower number`);
        }
    }

    /** See {@link NextTable}. */
    after(table: TableName, family?: Family): TableId {
        const use = this.#tables.get(table);
        if (use === undefined) throw new FlowsError("PIPELINE", "internal", `the table ${table} is not in use`);
        const rest = this.#path.slice(this.#path.indexOf(use) + 1);
        return this.#first(rest, use.stage, family ?? use.family, `no table follows ${table}`);
    }

    /** See {@link NextTable}. */
    into(stage: Stage, family?: Family): TableId {
        const from = order.indexOf(stage);
        const rest = this.#path.filter((use) => order.indexOf(use.stage) >= from);
        return this.#first(rest, stage, family, `no table is in the stage ${stage} or after it`);
    }

    /**
     * Returns the flows of the parts, one set per category. The set of category `default` is first and includes the
     * table-miss flow of each table. Throws FlowsError `PIPELINE` if a part has a table that is not in use, or a flow
     * has no next table.
     */
    flows(parts: readonly PipelinePart[]): readonly FlowSet[] {
        for (const { table } of parts.flatMap(({ tables }) => tables)) {
            if (!this.#tables.has(table)) throw new FlowsError("PIPELINE", "internal", `${table} is not in use`);
        }
        const misses = [...this.#tables.values()].map((use) => this.#missFlow(use));
        const sets = new Map<Category, Flow[]>([[Category.default, misses]]);
        for (const part of parts) {
            const category = part.category ?? Category.default;
            sets.set(category, [...(sets.get(category) ?? []), ...part.flows(this)]);
        }
        return [...sets].map(([category, flows]) => ({ category, flows }));
    }

    /** Returns the first of these tables that packets of the family pass, in this stage or in any main stage. */
    #first(rest: readonly TableUse[], stage: Stage, family: Family | undefined, problem: string): TableId {
        const found = rest.find(
            (use) =>
                (use.stage === stage || (isMainStage(stage) && isMain(use))) &&
                (use.family === undefined || use.family === family),
        );
        if (found === undefined) throw new FlowsError("PIPELINE", "internal", problem);
        return Table[found.table];
    }

    #missFlow({ table, miss }: TableUse): Flow {
        const flow = { table: Table[table], priority: Priority.miss, match: {}, actions: [] };
        return miss === "drop" ? flow : { ...flow, gotoTable: this.after(table) };
    }
}

function position({ table, stage }: TableUse): number {
    return order.indexOf(stage) * 256 + Table[table];
}

function isMainStage(stage: Stage): boolean {
    return (mainStages as readonly Stage[]).includes(stage);
}

function isMain({ stage }: TableUse): boolean {
    return isMainStage(stage);
}
