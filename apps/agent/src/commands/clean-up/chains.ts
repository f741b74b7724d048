import { messageOf } from "@antrea/errors";
import { linesOf, wordsOf } from "../../features/host-filter/firewall/index.ts";
import type { RunProgram } from "../../platform/program.ts";
import { PartlyRemovedError } from "../../platform/partly-removed.ts";

/** Name prefix of all chains of upstream Antrea, used by no other program. */
const prefix = "ANTREA-";
const tables = ["raw", "mangle", "nat", "filter"] as const;

/** Dependencies of removeChains; `run` runs nft(8) and the iptables programs. */
export interface ChainComponents {
    readonly run: RunProgram;
    /** The names of the tables that iptables-legacy has in the kernel, such as "nat", by address family. */
    readonly legacyTables: (family: 4 | 6) => readonly string[];
}

/**
 * Removes the iptables chains that upstream Antrea (Go) leaves on a Node (nft and legacy, both families), and the jumps
 * to them; they would masquerade Pods of Nodes that they do not know, and direct NodePorts to closed ports. Resolves
 * with the removed chains, as text for users. Only existing tables are read, because reading creates them.
 *
 * @throws PartlyRemovedError if some remain (a failure of one does not prevent the removal of the others); ProgramError
 *   if the tables cannot be listed
 */
export async function removeChains({ run, legacyTables }: ChainComponents): Promise<readonly string[]> {
    const nftTables = (await run("nft", ["list", "tables"])).split("\n");
    const removal: Removal = { removed: [], failures: [] };
    for (const family of [4, 6] as const) {
        const name = family === 4 ? "iptables" : "ip6tables";
        const legacy = legacyTables(family);
        for (const table of tables) {
            const isThere = nftTables.includes(`table ip${family === 6 ? "6" : ""} ${table}`);
            if (isThere) await removeOfTable(run, { program: `${name}-nft`, table }, removal);
            if (legacy.includes(table)) await removeOfTable(run, { program: `${name}-legacy`, table }, removal);
        }
    }
    if (removal.failures.length > 0) throw new PartlyRemovedError(removal.failures, removal.removed);
    return removal.removed;
}

interface Removal {
    readonly removed: string[];
    /** What remains, with the reason. */
    readonly failures: string[];
}

async function removeOfTable(
    run: RunProgram,
    { program, table }: { readonly program: string; readonly table: string },
    { removed, failures }: Removal,
): Promise<void> {
    const iptables = (...args: readonly string[]): Promise<string> => run(program, ["-w", "5", "-t", table, ...args]);
    const attempt = async (what: string, ...args: readonly string[]): Promise<string | undefined> => {
        try {
            return await iptables(...args);
        } catch (error) {
            failures.push(`${what}: ${messageOf(error)}`);
            return undefined;
        }
    };
    const listing = await attempt(`table ${table} (${program})`, "-S");
    const lines = linesOf(listing ?? "").map(wordsOf);
    const where = `(${program}, table ${table})`;
    const chains = lines.flatMap(([what, chain = ""]) => (what === "-N" && chain.startsWith(prefix) ? [chain] : []));
    for (const [what, from = "", ...rule] of lines) {
        if (what !== "-A" || chains.includes(from)) continue;
        const target = rule[rule.findLastIndex((word) => word === "-j" || word === "-g") + 1];
        if (target === undefined || !chains.includes(target)) continue;
        await attempt(`a jump from ${from} to ${target} ${where}`, "-D", from, ...rule);
    }
    // Chains may jump to each other. An empty one has no effect even if a jump to it remains.
    for (const chain of chains) await attempt(`the rules of chain ${chain} ${where}`, "-F", chain);
    for (const chain of chains) {
        const gone = await attempt(`chain ${chain} ${where}`, "-X", chain);
        if (gone !== undefined) removed.push(`${program} chain ${chain} of table ${table}`);
    }
}
