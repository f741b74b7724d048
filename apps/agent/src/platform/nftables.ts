import { AntreaError, isErrorOf } from "@antrea/errors";
import { ProgramError, runProgram } from "./program.ts";

export class NftError extends AntreaError<"NFT_FAILED" | "NFT_MISSING"> {}

/** Applies rulesets with nft(8) in one transaction each; output is the text that nft printed. */
export type RunNft = (args: readonly string[], input: string) => Promise<string>;

/** Runs the nft(8) program. */
export const runNft: RunNft = async (args, input) => {
    try {
        return await runProgram("nft", args, input);
    } catch (cause) {
        if (!isErrorOf(ProgramError, cause)) throw cause;
        const code = isErrorOf(ProgramError, cause, "PROGRAM_MISSING") ? "NFT_MISSING" : "NFT_FAILED";
        throw new NftError(code, "environment", cause.message, { cause });
    }
};

/** One nftables table of ours (nft(8)). Rules of others, whatever they are made with, stay alone. */
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
     * Makes the table what this script makes it, unless it is so already: it was made by it, and nobody changed or removed
     * it since. True when it was made.
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
