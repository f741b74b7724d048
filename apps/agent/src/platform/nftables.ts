import { AntreaError, isErrorOf } from "@antrea/errors";
import { isNetlinkError, nftablesGeneration } from "@antrea/netlink";
import { NftElements } from "./nft-elements.ts";
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
 * Keeps one nftables table of this agent (nft(8)) as a script defines it; other tables are not changed. Sets and maps of
 * it that `sets` names begin empty in the script and get their elements singly, by `setElement`. It writes nothing to the
 * kernel before `ensure`, which the caller repeats, and the table is never deleted. Calls of `ensure` must not overlap.
 */
export class NftTable {
    readonly #nft: RunNft;
    readonly #generation: RulesGeneration;
    readonly #family: string;
    readonly #name: string;
    readonly #elements: NftElements;
    #applied = "";
    #structure = "";
    /** The generation before the last listing that was right: while the rules are of this one, it still is. */
    #listedAt: number | undefined;

    constructor(
        components: { readonly nft: RunNft; readonly generation: RulesGeneration },
        options: {
            readonly family: "inet" | "arp";
            readonly name: string;
            /** The names of the sets and maps whose elements are changed singly. Default: none. */
            readonly sets?: readonly string[];
        },
    ) {
        this.#nft = components.nft;
        this.#generation = components.generation;
        this.#family = options.family;
        this.#name = options.name;
        this.#elements = new NftElements(options.sets ?? []);
    }

    /**
     * Adds an element of one of `sets`, or replaces its value; the next `ensure` writes it, and nothing else of the table.
     *
     * @param element as `nft -n` lists it
     * @param value that of a map, "" in a set; undefined: removes the element
     * @returns whether it was another one
     */
    setElement(set: string, element: string, value: string | undefined): boolean {
        return this.#elements.set(set, element, value);
    }

    /**
     * Applies the script, which must replace the whole table (`add table`, `delete table`, `table … { … }`), unless it
     * was the last one applied and the listing of the table has not changed since; then only elements that changed are
     * written. Runs no program if nothing changed and the generation of the rules has not either. Returns true if the
     * script was applied.
     * Rejects with NftError: the table is then as before or as the script defines it, and the next call tries again.
     */
    async ensure(script: string): Promise<boolean> {
        if (script === this.#applied && (await this.#isUnchanged())) {
            await this.#writeChanges();
            return false;
        }
        const all = `${script}${this.#elements.all(this.#place)}`;
        // of those that change from here on the next call takes care
        this.#elements.clearChanges();
        this.#applied = "";
        await this.#nft(["-f", "-"], all);
        const generation = this.#generation();
        this.#structure = this.#elements.structure(await this.#list());
        // Only now: without a listing the table may be that of another script than the last one that counts as applied.
        this.#listedAt = generation;
        this.#applied = script;
        return true;
    }

    get #place(): string {
        return `${this.#family} ${this.#name}`;
    }

    async #writeChanges(): Promise<void> {
        const { script, restore } = this.#elements.takeChanges(this.#place);
        if (script === "") return;
        const before = this.#generation();
        try {
            await this.#nft(["-f", "-"], script);
        } catch (error) {
            restore();
            this.#listedAt = undefined;
            throw error;
        }
        const after = this.#generation();
        // one transaction: if somebody else made one meanwhile, a listing shows what it changed
        const isOurs = before !== undefined && before === this.#listedAt && after === before + 1;
        this.#listedAt = isOurs ? after : undefined;
    }

    async #isUnchanged(): Promise<boolean> {
        const generation = this.#generation();
        if (generation !== undefined && generation === this.#listedAt) return true;
        const listing = await this.#list();
        if (this.#elements.structure(listing) !== this.#structure || !this.#elements.isListed(listing)) return false;
        this.#listedAt = generation;
        return true;
    }

    async #list(): Promise<string> {
        const tables = await this.#nft(["list", "tables", this.#family], "");
        if (!tables.split("\n").includes(`table ${this.#place}`)) return "";
        // elements are compared by numbers of protocols: not every image has their names
        const numeric = this.#elements.isUsed ? ["-n"] : [];
        return this.#nft([...numeric, "list", "table", this.#family, this.#name], "");
    }
}
