import { AntreaError, isErrorOf } from "@antrea/errors";
import { ProgramError, runProgram } from "./program.ts";

/** Failure of nft(8), or the program is missing. */
export class NftError extends AntreaError<"NFT_FAILED" | "NFT_MISSING"> {}

/** Runs nft(8) with a ruleset as input, which it applies in one transaction; resolves with its output. */
export type RunNft = (args: readonly string[], input: string) => Promise<string>;

/** Runs the nft(8) program; rejects with NftError. */
export const runNft: RunNft = async (args, input) => {
    try {
        return await runProgram("nft", args, input);
    } catch (cause) {
        if (!isErrorOf(ProgramError, cause)) throw cause;
        const code = isErrorOf(ProgramError, cause, "PROGRAM_MISSING") ? "NFT_MISSING" : "NFT_FAILED";
        throw new NftError(code, "environment", cause.message, { cause });
    }
};

/** One nftables table of this agent (nft(8)). Rules outside of it are not changed. */
export class NftTable {
    readonly #nft: RunNft;
    readonly #family: string;
    readonly #name: string;
    #applied = "";
    #listing = "";

    constructor(
        components: { readonly nft: RunNft },
        options: { readonly family: "inet" | "arp"; readonly name: string },
    ) {
        this.#nft = components.nft;
        this.#family = options.family;
        this.#name = options.name;
    }

    /**
     * Applies the script that defines the table unless it was the last one applied and the table has not been changed
     * or removed since. Returns true if the script was applied.
     */
    async ensure(script: string): Promise<boolean> {
        if (script === this.#applied && (await this.#list()) === this.#listing) return false;
        await this.#nft(["-f", "-"], script);
        this.#listing = await this.#list();
        this.#applied = script;
        return true;
    }

    async #list(): Promise<string> {
        const tables = await this.#nft(["list", "tables", this.#family], "");
        return tables.split("\n").includes(`table ${this.#family} ${this.#name}`)
            ? this.#nft(["list", "table", this.#family, this.#name], "")
            : "";
    }
}
