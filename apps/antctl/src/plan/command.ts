import { newGateways, readPool } from "@antrea/ipam";
import { Command } from "commander";
import { type Allocation } from "../cluster/index.ts";
import { addFileOptions, type FileOptions } from "../input-files.ts";
import { PoolSet } from "../pools/index.ts";
import { exitFailed, exitIncomplete, type CommandContext, type Session } from "../program/index.ts";
import { tryOnServer } from "./dry-run.ts";
import { readManifest, type PlannedPool } from "./manifest.ts";
import { renderPlan } from "./render.ts";
import { planPool, type PoolPlan } from "./report.ts";
import { readUsers } from "./users.ts";

/**
 * Makes the command `antctl ipam plan -f FILE`, which prints a PlanReport and changes nothing. Exit code exitFailed if
 * a pool is refused, exitIncomplete if the API server did not judge one. Its action rejects with CliError `BAD_INPUT`,
 * `NOT_SERVED` or KubeError.
 */
export function planCommand(context: CommandContext): Command {
    const command = addFileOptions(new Command("plan"))
        .summary("show the effects of a change of IPPools")
        .description(
            "Reads IPPools from files and shows, without changing anything, what would be refused and why, which other " +
                "pools overlap, whose addresses would fall out, who names the pool, and how its usage would change. " +
                "Exit code: 0 nothing is refused, 1 something is, 2 the API server did not judge all of it.",
        )
        .action(async ({ filename, recursive = false }: FileOptions) => {
            const manifest = readManifest(filename.flatMap((path) => context.readSources(path, recursive)));
            using session = context.session(command);
            const [before, users] = await Promise.all([PoolSet.read(session.cluster), readUsers(session.cluster)]);
            let pools = before;
            const plans: PoolPlan[] = [];
            for (const planned of manifest.pools) {
                const allocations = await allocationsFor(session, pools, planned);
                const plan = planPool({ planned, pools, allocations, users });
                const server = await tryOnServer(
                    session.cluster.api,
                    planned.object,
                    before.get(plan.name)?.object,
                    session.timeoutMs,
                );
                plans.push({ ...plan, server, refused: plan.refused || server.answer === "refused" });
                // The rest of the file is evaluated as if this pool were applied.
                if (!plan.refused) pools = pools.with(planned.object);
            }
            if (plans.some(({ refused }) => refused)) context.exitWith(exitFailed);
            else if (plans.some(({ server }) => server.answer === "none")) context.exitWith(exitIncomplete);
            context.print(command, { pools: plans, ignored: manifest.ignored }, renderPlan);
        });
    return command;
}

/** Allocations of the existing pool, of pools that overlap it now or would, and of its future gateways. */
async function allocationsFor(
    session: Session,
    pools: PoolSet,
    { object, refusals }: PlannedPool,
): Promise<readonly Allocation[]> {
    const name = object.metadata?.name ?? "";
    const existing = pools.get(name)?.pool;
    const planned = refusals.length === 0 ? readPool(object) : undefined;
    const meant = [existing, planned].filter((pool) => pool !== undefined);
    const names = new Set([name, ...meant.flatMap((pool) => pools.overlapping(pool)).map((pool) => pool.name)]);
    names.delete("");
    const gateways = planned === undefined ? [] : [...newGateways(planned, existing)];
    const [ofPools, ofGateways] = await Promise.all([
        Promise.all([...names].map((pool) => session.cluster.allocations({ pool }))),
        Promise.all(gateways.map((ip) => session.cluster.allocationOf(ip))),
    ]);
    const allocations = [...ofPools.flat(), ...ofGateways].filter((allocation) => allocation !== undefined);
    return [...new Map(allocations.map((allocation) => [allocation.name, allocation])).values()];
}
