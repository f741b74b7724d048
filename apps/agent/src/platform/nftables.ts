import { AntreaError, isErrorOf } from "@antrea/errors";
import { isNetlinkError, nftablesGeneration } from "@antrea/netlink";
import { ProgramError, runProgram } from "./program.ts";

/**
 * `NFT_FAILED`: nft(8) ended with an error or did not end within 10 s, which is reported up to 3 s later;
 * `NFT_MISSING`: it cannot be started. The message has its error output.
 */
export class NftError extends AntreaError<"NFT_FAILED" | "NFT_MISSING"> {}

/**
 * Runs nft(8) with these arguments and `input` on standard input; resolves with its standard output. A ruleset
 * (arguments `-f -`) is applied in one transaction, or not at all. Rejects with NftError.
 */
export type RunNft = (args: readonly string[], input: string) => Promise<string>;

/**
 * `RunNft` with the nft(8) program of the image; ends it after 10 s, or 13 s if it ignores SIGTERM, with `NFT_FAILED`.
 */
export const runNft: RunNft = async (args, input) => {
    try {
        return await runProgram("nft", args, input);
    } catch (cause) {
        if (!isErrorOf(ProgramError, cause)) throw cause;
        const code = isErrorOf(ProgramError, cause, "PROGRAM_MISSING") ? "NFT_MISSING" : "NFT_FAILED";
        throw new NftError(code, "environment", cause.message, { cause });
    }
};

/**
 * A number that another one replaces with each change of the Node's nftables rules, whoever makes it; undefined if it is not
 * known, so that only a listing shows whether they changed. Does not throw.
 */
export type RulesGeneration = () => number | undefined;

/** `RulesGeneration` of the network namespace in which the agent runs, by one request to the kernel. */
export const rulesGeneration: RulesGeneration = () => {
    try {
        return nftablesGeneration();
    } catch (error) {
        // A kernel without nftables, for example; what lists the rules reports why it cannot.
        if (isNetlinkError(error)) return undefined;
        throw error;
    }
};

/**
 * Keeps one nftables table of this agent (nft(8)) as a script defines it; other tables are not changed. It writes
 * nothing to the kernel before `ensure`, which the caller repeats, and the table is never deleted. Calls must not
 * overlap.
 */
export class NftTable {
    readonly #nft: RunNft;
    readonly #generation: RulesGeneration;
    readonly #family: string;
    readonly #name: string;
    #applied = "";
    #listing = "";
    /** The generation before the last listing that was `#listing`: while the rules are of this one, it still is. */
    #listedAt: number | undefined;

    constructor(
        components: { readonly nft: RunNft; readonly generation: RulesGeneration },
        options: { readonly family: "inet" | "arp"; readonly name: string },
    ) {
        this.#nft = components.nft;
        this.#generation = components.generation;
        this.#family = options.family;
        this.#name = options.name;
    }

    /**
     * Applies the script, which must replace the whole table (`add table`, `delete table`, `table … { … }`), unless it
     * was the last one applied and the listing of the table has not changed since; runs no program if the generation of the
     * rules has not either. Returns true if it was applied.
     * Rejects with NftError: the table is then as before or as the script defines it, and the next call tries again.
     */
    async ensure(script: string): Promise<boolean> {
        if (script === this.#applied && (await this.#isUnchanged())) return false;
        await this.#nft(["-f", "-"], script);
        const generation = this.#generation();
        this.#listing = await this.#list();
        // Only now: without a listing the table may be that of another script than the last one that counts as applied.
        this.#listedAt = generation;
        this.#applied = script;
        return true;
    }

    async #isUnchanged(): Promise<boolean> {
        const generation = this.#generation();
        if (generation !== undefined && generation === this.#listedAt) return true;
        if ((await this.#list()) !== this.#listing) return false;
        this.#listedAt = generation;
        return true;
    }

    async #list(): Promise<string> {
        const tables = await this.#nft(["list", "tables", this.#family], "");
        return tables.split("\n").includes(`table ${this.#family} ${this.#name}`)
            ? this.#nft(["list", "table", this.#family, this.#name], "")
            : "";
    }
}
