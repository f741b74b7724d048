import { wordsOf } from "../host-firewall/index.ts";
import type { RunProgram } from "../run-program.ts";

/** Begins the name of each chain of Antrea in Go, and of nobody else's. */
const prefix = "ANTREA-";
const tables = ["raw", "mangle", "nat", "filter"] as const;

export interface ChainComponents {
    readonly run: RunProgram;
    /** The tables that iptables-legacy has in the kernel, by the family of their addresses. */
    readonly legacyTables: (family: 4 | 6) => readonly string[];
}

/**
 * Removes the chains of iptables that Antrea in Go leaves on a Node, and what jumps to them. They masquerade Pods of other
 * Nodes which they do not know, and lead NodePorts to where nobody listens. Only tables that are there are looked at: to look
 * makes them.
 */
export async function removeChains({ run, legacyTables }: ChainComponents): Promise<readonly string[]> {
    const nftTables = (await run("nft", ["list", "tables"])).split("\n");
    const removed: string[] = [];
    for (const family of [4, 6] as const) {
        const name = family === 4 ? "iptables" : "ip6tables";
        const legacy = legacyTables(family);
        for (const table of tables) {
            const isThere = nftTables.includes(`table ip${family === 6 ? "6" : ""} ${table}`);
            if (isThere) removed.push(...(await removeOfTable(run, `${name}-nft`, table)));
            if (legacy.includes(table)) removed.push(...(await removeOfTable(run, `${name}-legacy`, table)));
        }
    }
    return removed;
}

async function removeOfTable(run: RunProgram, program: string, table: string): Promise<readonly string[]> {
    const iptables = (...args: readonly string[]): Promise<string> => run(program, ["-w", "5", "-t", table, ...args]);
    const lines = (await iptables("-S")).split("\n").map(wordsOf);
    const chains = lines.flatMap(([what, chain = ""]) => (what === "-N" && chain.startsWith(prefix) ? [chain] : []));
    for (const [what, ...rule] of lines) {
        if (what !== "-A" || chains.includes(rule[0] ?? "")) continue;
        const target = rule[rule.findIndex((word) => word === "-j" || word === "-g") + 1];
        if (target !== undefined && chains.includes(target)) await iptables("-D", ...rule);
    }
    // they may jump to each other
    for (const chain of chains) await iptables("-F", chain);
    for (const chain of chains) await iptables("-X", chain);
    return chains.map((chain) => `${program} chain ${chain} of table ${table}`);
}
