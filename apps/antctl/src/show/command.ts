import { readPool } from "@antrea/ipam";
import { Command } from "commander";
import { type Cluster } from "../cluster/index.ts";
import { CliError } from "../errors.ts";
import { count, someOf } from "../output/index.ts";
import { PoolSet } from "../pools/index.ts";
import { type CommandContext } from "../program/index.ts";
import { renderPool, renderPools } from "./render.ts";
import { poolReport, summaryOf } from "./report.ts";

/**
 * Makes the command `antctl ipam show [POOL]`, which prints a list of PoolSummary, or the PoolReport of one. Its action
 * rejects with CliError `NOT_FOUND`, `NOT_SERVED` or KubeError.
 */
export function showCommand(context: CommandContext): Command {
    const command = new Command("show")
        .summary("show IPPools and how full they are")
        .description(
            "Shows all IPPools as antrea-controller sees them, or one pool from its IPAllocations: its ranges, its biggest " +
                "users and what is reserved.",
        )
        .argument("[POOL]", "name of an IPPool")
        .action(async (name: string | undefined) => {
            using session = context.session(command);
            if (name === undefined) {
                const pools = await session.cluster.pools();
                const summaries = pools.map((object) => summaryOf({ object, pool: readPool(object) }));
                context.print(command, { pools: summaries }, ({ pools: rows }, style) => renderPools(rows, style));
                return;
            }
            const pools = await PoolSet.read(session.cluster);
            const entry = pools.get(name);
            if (entry === undefined) throw await unknownPool(name, pools, session.cluster);
            const names = [name, ...pools.overlapping(entry.pool).map((other) => other.name)];
            const allocations = await Promise.all(names.map((pool) => session.cluster.allocations({ pool })));
            context.print(command, poolReport(pools, entry, allocations.flat()), (report, style) =>
                renderPool(report, style, context.now()),
            );
        });
    return context.completeWith(command, async ({ session, before }) => {
        if (before.length > 0) return [];
        const pools = await session.cluster.pools();
        return pools.map((object) => {
            const { usage } = object.status ?? {};
            const description = usage === undefined ? {} : { description: `${usage.free} of ${usage.total} free` };
            return { value: object.metadata?.name ?? "", ...description };
        });
    });
}

async function unknownPool(name: string, pools: PoolSet, cluster: Cluster): Promise<CliError> {
    const allocations = await cluster.allocations({ pool: name });
    const left =
        allocations.length === 0
            ? ""
            : `, although ${count(allocations.length, "allocation names", "allocations name")} it`;
    const known = pools.all.map(({ pool }) => pool.name);
    const next = known.length === 0 ? "create one: docs/ipam.md shows how" : `choose one of ${someOf(known, 10)}`;
    return new CliError("NOT_FOUND", "caller", `the cluster has no IPPool "${name}"${left}`, next);
}
