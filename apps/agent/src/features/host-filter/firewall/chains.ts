import { AntreaError } from "@antrea/errors";
import type { Family } from "@antrea/ip";
import { ProgramError, type RunProgram } from "../../../platform/program.ts";
import { commonEffect, effectOfExpressions, effectOfLine, fieldOf, type Effect } from "./effects.ts";
import { linesOf } from "./words.ts";

/** - `VIEWS_DIFFER`: iptables(8) and nft(8) show different rules of a chain. */
class ChainError extends AntreaError<"VIEWS_DIFFER"> {}

/** One of the two kernel interfaces that a Node's iptables may use, for one address family. */
export interface Backend {
    /** The program that reads and writes its chains, such as `iptables-nft`. */
    readonly program: string;
    /** The family of its tables in nftables; undefined for "legacy", which nft(8) does not show. */
    readonly nftFamily: "ip" | "ip6" | undefined;
}

const lockSeconds = "5";

/** The backend of an address family: `iptables-nft`, `iptables-legacy`, `ip6tables-nft` or `ip6tables-legacy`. */
export function backendOf(family: Family, name: "nft" | "legacy"): Backend {
    return {
        program: `${family === 4 ? "iptables" : "ip6tables"}-${name}`,
        nftFamily: name === "legacy" ? undefined : family === 4 ? "ip" : "ip6",
    };
}

/**
 * Reads and writes chains of the table `filter` of one backend, by iptables(8) and nft(8); caches nothing. Methods
 * reject with ProgramError if one of these fails.
 */
export class FilterTable {
    readonly #run: RunProgram;
    readonly #backend: Backend;

    constructor(components: { readonly run: RunProgram }, backend: Backend) {
        this.#run = components.run;
        this.#backend = backend;
    }

    /** The program of the backend. */
    get program(): string {
        return this.#backend.program;
    }

    /**
     * The output of `iptables -S` for a chain, by line: first its policy (`-P`, of a user-defined chain `-N`), then
     * each rule as `-A FORWARD …`. Rejects with ProgramError, also if the chain does not exist.
     */
    async list(chain: string): Promise<readonly string[]> {
        return linesOf(await this.iptables("-S", chain));
    }

    /**
     * Runs the program of the backend with these arguments and resolves with its output; waits up to 5 s for the
     * xtables lock. Rejects with ProgramError.
     */
    iptables(...args: readonly string[]): Promise<string> {
        return this.#run(this.#backend.program, ["-w", lockSeconds, ...args]);
    }

    /** The effects of the rules of a chain, in order; empty if the chain does not exist. Rejects as `effects`. */
    async effectsOf(chain: string): Promise<readonly Effect[]> {
        let lines: readonly string[];
        try {
            lines = await this.list(chain);
        } catch (error) {
            // What appears as a jump in iptables-legacy may be a target that modifies the packet: MARK, CT.
            if (error instanceof ProgramError && /No chain\/target\/match by that name/.test(error.message)) return [];
            throw error;
        }
        return this.effects(
            chain,
            lines.filter((line) => line.startsWith(`-A ${chain} `)),
        );
    }

    /**
     * The effects of rules, one for each line: `lines` are all `-A` lines of the chain in order, without its `-P` or
     * `-N`. iptables(8) and nft(8) each omit what they cannot decode (a set: `-j DROP`), so "no match" and "only logs"
     * need both. Rejects with ProgramError, or ChainError if they show different numbers of rules.
     */
    async effects(chain: string, lines: readonly string[]): Promise<readonly Effect[]> {
        const shown = lines.map(effectOfLine);
        const { nftFamily } = this.#backend;
        if (nftFamily === undefined || shown.every(({ kind }) => kind === "other")) return shown;
        const listed = rulesOf(await this.#run("nft", ["-j", "list", "chain", nftFamily, "filter", chain]));
        if (listed.length !== shown.length) {
            throw new ChainError(
                "VIEWS_DIFFER",
                "environment",
                `${this.program} shows ${shown.length} rules of chain ${chain} of table filter and nft shows ${listed.length}: either the chain has just been changed, or they cannot read it all; compare "${this.program} -S ${chain}" with "nft list chain ${nftFamily} filter ${chain}"`,
            );
        }
        return shown.map((effect, at) => commonEffect(effect, listed[at]));
    }
}

/** The effects of the rules in an `nft -j` listing, in order. */
function rulesOf(text: string): readonly Effect[] {
    const objects = fieldOf(JSON.parse(text), "nftables");
    return (Array.isArray(objects) ? objects : []).flatMap((object: unknown) => {
        const rule = fieldOf(object, "rule");
        if (rule === undefined) return [];
        const expressions = fieldOf(rule, "expr");
        return [effectOfExpressions(Array.isArray(expressions) ? expressions : [])];
    });
}
