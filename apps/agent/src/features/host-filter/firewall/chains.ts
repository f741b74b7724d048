import { AntreaError } from "@antrea/errors";
import type { Family } from "@antrea/ip";
import { ProgramError, type RunProgram } from "../../../platform/program.ts";
import { commonEffect, effectOfExpressions, effectOfLine, fieldOf, type Effect } from "./effects.ts";
import { linesOf } from "./words.ts";

/** - `VIEWS_DIFFER`: iptables(8) and nft(8) show different rules of a chain. */
class ChainError extends AntreaError<"VIEWS_DIFFER"> {}

/** One of the two interfaces of the kernel that a Node's iptables may use, of one family of addresses. */
export interface Backend {
    /** Reads and writes its chains: `iptables-nft` and so on. */
    readonly program: string;
    /** The family of its tables in nftables; undefined of "legacy", of which nft(8) sees nothing. */
    readonly nftFamily: "ip" | "ip6" | undefined;
}

const lockSeconds = "5";

export function backendOf(family: Family, name: "nft" | "legacy"): Backend {
    return {
        program: `${family === 4 ? "iptables" : "ip6tables"}-${name}`,
        nftFamily: name === "legacy" ? undefined : family === 4 ? "ip" : "ip6",
    };
}

/** Reads and writes chains of the table `filter` of one backend. */
export class FilterTable {
    readonly #run: RunProgram;
    readonly #backend: Backend;

    constructor(components: { readonly run: RunProgram }, backend: Backend) {
        this.#run = components.run;
        this.#backend = backend;
    }

    get program(): string {
        return this.#backend.program;
    }

    /** What iptables(8) prints of a chain: its policy, and each rule as `-A FORWARD …`. Rejects with ProgramError. */
    async list(chain: string): Promise<readonly string[]> {
        return linesOf(await this.iptables("-S", chain));
    }

    iptables(...args: readonly string[]): Promise<string> {
        return this.#run(this.#backend.program, ["-w", lockSeconds, ...args]);
    }

    /** What the rules of any chain do; none where there is no such chain. Rejects with ProgramError and ChainError. */
    async effectsOf(chain: string): Promise<readonly Effect[]> {
        let lines: readonly string[];
        try {
            lines = await this.list(chain);
        } catch (error) {
            // What looks like a jump in iptables-legacy may be a target that acts on the packet: MARK, CT.
            if (error instanceof ProgramError && /No chain\/target\/match by that name/.test(error.message)) return [];
            throw error;
        }
        return this.effects(
            chain,
            lines.filter((line) => line.startsWith(`-A ${chain} `)),
        );
    }

    /**
     * What these rules of a chain do, all that it has as `iptables -S` prints them. Of tables of nftables iptables(8) leaves
     * out what it cannot decode, such as a set: `ip daddr @bad drop` shows as `-j DROP`. nft(8) leaves out other things, those
     * that are younger than it is. So a rule has no match, or only logs, where both say so.
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

/** What the rules of a listing of `nft -j` do, in their order. */
function rulesOf(text: string): readonly Effect[] {
    const objects = fieldOf(JSON.parse(text), "nftables");
    return (Array.isArray(objects) ? objects : []).flatMap((object: unknown) => {
        const rule = fieldOf(object, "rule");
        if (rule === undefined) return [];
        const expressions = fieldOf(rule, "expr");
        return [effectOfExpressions(Array.isArray(expressions) ? expressions : [])];
    });
}
