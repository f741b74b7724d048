import { spawn } from "node:child_process";
import { AntreaError } from "@antrea/errors";
import type { Logger } from "@antrea/runtime";
import { ruleset, tableName, type MasqueradeInput } from "./ruleset.ts";

export class NftError extends AntreaError<"NFT_FAILED" | "NFT_MISSING"> {}

/** Applies rulesets with nft(8) in one transaction each; output is the text that nft printed. */
export type RunNft = (args: readonly string[], input: string) => Promise<string>;

export interface MasqueradeComponents {
    readonly logger: Logger;
    readonly nft: RunNft;
}

/** Keeps our nftables table as it must be. Rules of others, whatever they are made with, stay alone. */
export class Masquerade {
    readonly #components: MasqueradeComponents;
    #applied = "";
    #listing = "";

    constructor(components: MasqueradeComponents) {
        this.#components = components;
    }

    /** Replaces the table when it should be another, or when somebody changed or removed it. */
    async reconcile(input: MasqueradeInput): Promise<void> {
        const wanted = ruleset(input);
        if (wanted === this.#applied && (await this.#list()) === this.#listing) return;
        await this.#components.nft(["-f", "-"], wanted);
        this.#listing = await this.#list();
        this.#applied = wanted;
        this.#components.logger.info("masquerading set", { table: `inet ${tableName}`, noSNAT: input.noSnat });
    }

    async #list(): Promise<string> {
        const tables = await this.#components.nft(["list", "tables", "inet"], "");
        return tables.split("\n").includes(`table inet ${tableName}`)
            ? this.#components.nft(["list", "table", "inet", tableName], "")
            : "";
    }
}

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
