import { isDeepStrictEqual } from "node:util";
import { messageOf } from "@antrea/errors";
import type { Family } from "@antrea/ip";
import type { Logger } from "@antrea/runtime";
import type { RulesGeneration } from "../../../platform/nftables.ts";
import type { RunProgram } from "../../../platform/program.ts";
import type { FilterTable } from "./chains.ts";
import { commentOf, deleteRule, isOwn, legacyTablesHere, readChains, tablesOf, type Chain } from "./own-rules.ts";
import { placeOfAccept } from "./place.ts";
import { acceptRules, type AcceptRule, type FirewallInput } from "./rules.ts";
import { wordsOf } from "./words.ts";

/** Dependencies of HostFirewall. */
export interface HostFirewallComponents {
    /** Runs iptables(8), ip6tables(8) and nft(8). */
    readonly run: RunProgram;
    readonly logger: Logger;
    /** The tables of this family that iptables-legacy has in the kernel. Default: those of this network namespace. */
    readonly legacyTables?: (family: Family) => readonly string[];
    readonly generation: RulesGeneration;
}

interface BackendChains {
    readonly table: FilterTable;
    readonly chains: readonly Chain[];
}

/**
 * Maintains accept rules in the chains FORWARD and INPUT of the Node. Where these drop by default (Docker, ufw,
 * firewalld), Pods would reach no Service, no other network, and no Pod of another Node. An accept rule in a table of
 * our own has no such effect: a packet must pass all tables.
 *
 * The rules are placed as late in their chains as possible: what kube-proxy rejects (a Service without endpoints) and
 * what an administrator drops stays so, and only a default drop is overruled: the policy, or a final catch-all rule.
 *
 * A Node may use iptables with nftables or the older "legacy" interface, and packets pass the chains of both. So the
 * rules are added to each backend whose chains are in use, and to nftables if none is in use. Those in a backend that is
 * no longer in use stay: they change nothing there, and if the owner of the chains only restarts, Pods have traffic at
 * once and not only after the next check. `removeFirewallRules` removes them.
 */
export class HostFirewall {
    readonly #components: Required<HostFirewallComponents>;
    /** By family, the last logged problem, so that each problem is logged once. */
    readonly #problems = new Map<Family, string>();
    /** What the last check that succeeded was for, and the generation of the nftables rules before it. */
    #checked: { readonly input: FirewallInput; readonly generation: number | undefined } | undefined;

    constructor(components: HostFirewallComponents) {
        this.#components = { legacyTables: legacyTablesHere, ...components };
    }

    /**
     * Adds missing rules and moves misplaced ones to their position: behind all rules of other owners except a
     * catch-all drop. Removes rules of ours that are no longer wanted, all of a family that is not in `families`, from
     * the chains of a backend in use, or of nftables if none is. Idempotent; calls must not overlap. Runs no program if
     * nothing has changed since the last call, unless that failed for a family, or iptables-legacy has a table `filter`.
     * Never rejects: a failure in one of `families` is logged, once until it changes, and the other family is set
     * nevertheless.
     */
    async ensure(input: FirewallInput): Promise<void> {
        const generation = this.#components.generation();
        if (this.#isChecked(input, generation)) return;
        this.#checked = { input, generation };
        const wanted = acceptRules(input);
        for (const family of [4, 6] as const) {
            const rules = input.families.includes(family) ? wanted : [];
            try {
                await this.#ensureFamily(family, rules);
                this.#problems.delete(family);
            } catch (error) {
                this.#checked = undefined;
                // Without ip6tables the IPv4 rules are still useful.
                if (rules.length > 0) this.#warn(family, messageOf(error));
            }
        }
    }

    /** Whether the last check holds on; the kernel has no generation of the rules of iptables-legacy. */
    #isChecked(input: FirewallInput, generation: number | undefined): boolean {
        const { legacyTables } = this.#components;
        return (
            generation !== undefined &&
            generation === this.#checked?.generation &&
            isDeepStrictEqual(input, this.#checked.input) &&
            !([4, 6] as const).some((family) => legacyTables(family).includes("filter"))
        );
    }

    async #ensureFamily(family: Family, wanted: readonly AcceptRule[]): Promise<void> {
        const { run, legacyTables, logger } = this.#components;
        const found: BackendChains[] = [];
        for (const table of tablesOf(run, family, legacyTables(family))) {
            found.push({ table, chains: await readChains(table) });
        }
        const used = found.filter(({ chains }) => chains.some(({ isUsed }) => isUsed));
        for (const { table, chains } of used.length === 0 ? found.slice(0, 1) : used) {
            const changed = await this.#ensureChains(table, chains, wanted);
            if (changed.length > 0) {
                logger.info("rules of the Node's firewall set", { program: table.program, rules: changed });
            }
        }
    }

    /** Resolves with the comments of the rules that it added, moved or removed. */
    async #ensureChains(
        table: FilterTable,
        chains: readonly Chain[],
        wanted: readonly AcceptRule[],
    ): Promise<string[]> {
        const changed: string[] = [];
        for (const chain of chains) {
            const effects = await table.effects(chain.name, chain.rules);
            const others = effects.filter((_, at) => !isOwn(chain.rules[at] ?? ""));
            const place = await placeOfAccept(others, (name) => table.effectsOf(name));
            const accepts = wanted.filter((rule) => rule.chain === chain.name);
            changed.push(...(await this.#ensureChain(table, chain, { accepts, place })));
        }
        return changed;
    }

    /** Places the accept rules behind `place` rules of other owners. */
    async #ensureChain(
        table: FilterTable,
        { name, rules }: Chain,
        { accepts, place }: { readonly accepts: readonly AcceptRule[]; readonly place: number },
    ): Promise<readonly string[]> {
        const changed: string[] = [];
        // The rules of the chain, updated with each change below.
        let lines = rules;
        const remove = async (line: string): Promise<void> => {
            changed.push(await deleteRule(table, wordsOf(line)));
            // iptables deletes the first identical rule.
            lines = lines.toSpliced(lines.indexOf(line), 1);
        };
        for (const line of rules) {
            const comment = commentOf(wordsOf(line));
            if (comment !== undefined && !accepts.some((rule) => rule.comment === comment)) await remove(line);
        }
        for (const { match, comment } of accepts) {
            const copies = lines.filter((line) => commentOf(wordsOf(line)) === comment);
            const [only = ""] = copies;
            const isOne = copies.length === 1 && wordsOf(only).at(-1) === "ACCEPT";
            const at = isOne ? othersBefore(lines, lines.indexOf(only)) : -1;
            if (at === place) continue;
            // A rule that is too early is effective until it is replaced. One that is too late has no effect anyway.
            const isEarly = isOne && at < place;
            if (!isEarly) for (const line of copies) await remove(line);
            const index = lines.findIndex((line, i) => !isOwn(line) && othersBefore(lines, i) === place);
            const where = index === -1 ? ["-A", name] : ["-I", name, String(index + 1)];
            const target = ["-m", "comment", "--comment", comment, "-j", "ACCEPT"];
            await table.iptables(...where, ...match, ...target);
            changed.push(comment);
            const made = ["-A", name, ...match, "-m", "comment", "--comment", `"${comment}"`, "-j", "ACCEPT"].join(" ");
            lines = lines.toSpliced(index === -1 ? lines.length : index, 0, made);
            if (isEarly) await remove(only);
        }
        return [...new Set(changed)];
    }

    #warn(family: Family, reason: string): void {
        if (this.#problems.get(family) === reason) return;
        this.#problems.set(family, reason);
        this.#components.logger.warn(
            "the Node's firewall cannot be changed; where its chain FORWARD drops by policy, Pods reach nothing through this Node",
            { family: `IPv${family}`, reason },
        );
    }
}

function othersBefore(lines: readonly string[], index: number): number {
    return lines.slice(0, index).filter((line) => !isOwn(line)).length;
}
