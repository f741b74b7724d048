import { spawn } from "node:child_process";
import { AntreaError } from "@antrea/errors";

export class NftError extends AntreaError<"NFT_FAILED" | "NFT_MISSING"> {}

/** Applies rulesets with nft(8) in one transaction each; output is the text that nft printed. */
export type RunNft = (args: readonly string[], input: string) => Promise<string>;

const nftTimeoutMs = 10_000;

/** Runs the nft(8) program. */
export const runNft: RunNft = (args, input) =>
    new Promise((resolve, reject) => {
        const child = spawn("nft", args, { timeout: nftTimeoutMs, stdio: ["pipe", "pipe", "pipe"] });
        let output = "";
        let errors = "";
        child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
        child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
        child.on("error", (cause) => {
            reject(
                new NftError(
                    "NFT_MISSING",
                    "environment",
                    "the program nft cannot be run; install nftables on the image",
                    { cause },
                ),
            );
        });
        child.on("close", (code, signal) => {
            if (code === 0) resolve(output);
            else
                reject(
                    new NftError(
                        "NFT_FAILED",
                        "environment",
                        `nft ${args.join(" ")} ended with ${code ?? signal}: ${errors.trim()}`,
                    ),
                );
        });
        child.stdin.on("error", () => undefined);
        child.stdin.end(input);
    });

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
