import { messageOf } from "@antrea/errors";
import { PartlyRemovedError } from "../../../platform/partly-removed.ts";
import type { HostFirewallComponents } from "./host-firewall.ts";
import { commentOf, deleteRule, legacyTablesHere, readChains, tablesOf } from "./own-rules.ts";
import { wordsOf } from "./words.ts";

/**
 * Removes all rules of ours, of both families and backends. Resolves with what was removed, as texts: `iptables-nft
 * FORWARD "antrea: to antrea-gw0"`.
 *
 * @throws PartlyRemovedError if some remain, or could not be listed; a failure of one does not prevent the removal of
 * the others
 */
export async function removeFirewallRules({
    run,
    legacyTables = legacyTablesHere,
}: Pick<HostFirewallComponents, "legacyTables" | "run">): Promise<readonly string[]> {
    const removed: string[] = [];
    const failures: string[] = [];
    const attempt = async (what: string, work: () => Promise<void>): Promise<void> => {
        try {
            await work();
        } catch (error) {
            failures.push(`${what}: ${messageOf(error)}`);
        }
    };
    const families = [4, 6] as const;
    for (const table of families.flatMap((family) => tablesOf(run, family, legacyTables(family)))) {
        await attempt(table.program, async () => {
            for (const { name, rules } of await readChains(table)) {
                for (const words of rules.map(wordsOf)) {
                    const comment = commentOf(words);
                    if (comment === undefined) continue;
                    const what = `${table.program} ${name} "${comment}"`;
                    await attempt(what, async () => {
                        await deleteRule(table, words);
                        removed.push(what);
                    });
                }
            }
        });
    }
    if (failures.length > 0) throw new PartlyRemovedError(failures, removed);
    return removed;
}
