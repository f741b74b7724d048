import { readFileSync } from "node:fs";
import type { Family } from "@antrea/ip";
import type { RunProgram } from "../../../platform/program.ts";
import { backendOf, FilterTable } from "./chains.ts";
import { commentPrefix, type AcceptRule } from "./rules.ts";
import { wordsOf } from "./words.ts";

/** The state of one chain as shown by iptables(8). */
export interface Chain {
    readonly name: AcceptRule["chain"];
    /** `-A FORWARD …` and so on, ours and those of other owners. */
    readonly rules: readonly string[];
    /** Another owner has a rule there, or the policy does not accept. */
    readonly isUsed: boolean;
}

const chainNames = ["FORWARD", "INPUT"] as const;

/** The tables of each backend that may filter the family. */
export function tablesOf(run: RunProgram, family: Family, legacyTables: readonly string[]): readonly FilterTable[] {
    const names = legacyTables.includes("filter") ? (["nft", "legacy"] as const) : (["nft"] as const);
    return names.map((name) => new FilterTable({ run }, backendOf(family, name)));
}

/**
 * The names of the tables that iptables-legacy has in the kernel (/proc/net/ip_tables_names, ip6_tables_names), read
 * without iptables, which would make the kernel load them. Without `filter` if there is none; the list may contain "".
 */
export function legacyTablesHere(family: Family): readonly string[] {
    try {
        return readFileSync(`/proc/thread-self/net/ip${family === 6 ? "6" : ""}_tables_names`, "utf8").split("\n");
    } catch {
        // The kernel does not have them.
        return [];
    }
}

/** Reads the chains in which we have rules. Rejects with ProgramError. */
export async function readChains(table: FilterTable): Promise<readonly Chain[]> {
    const chains: Chain[] = [];
    for (const name of chainNames) {
        const lines = await table.list(name);
        const rules = lines.filter((line) => line.startsWith(`-A ${name} `));
        const accepts = lines.includes(`-P ${name} ACCEPT`);
        chains.push({ name, rules, isUsed: !accepts || !rules.every(isOwn) });
    }
    return chains;
}

/** Deletes the rule with these words of a line of `iptables -S`. Resolves with its comment; rejects with ProgramError. */
export async function deleteRule(table: FilterTable, [, ...rest]: readonly string[]): Promise<string> {
    await table.iptables("-D", ...rest);
    return commentOf(rest) ?? "";
}

/** Whether a line of `iptables -S` is a rule of ours. */
export function isOwn(line: string): boolean {
    return commentOf(wordsOf(line)) !== undefined;
}

/** The comment of a rule of ours, by the words of its line; undefined for other rules. */
export function commentOf(words: readonly string[]): string | undefined {
    const at = words.indexOf("--comment");
    const comment = at === -1 ? undefined : words[at + 1];
    return comment?.startsWith(commentPrefix) === true ? comment : undefined;
}
