import type { Logger } from "@antrea/runtime";
import { NftTable, type RunNft } from "../../platform/nftables.ts";
import { ruleset, tableName, type MasqueradeInput } from "./ruleset.ts";

export interface MasqueradeComponents {
    readonly logger: Logger;
    readonly nft: RunNft;
}

/** Keeps the nftables table of masquerading as it must be. */
export class Masquerade {
    readonly #logger: Logger;
    readonly #table: NftTable;

    constructor({ logger, nft }: MasqueradeComponents) {
        this.#logger = logger;
        this.#table = new NftTable({ nft }, { family: "inet", name: tableName });
    }

    /** Replaces the table when it should be another, or when somebody changed or removed it. */
    async reconcile(input: MasqueradeInput): Promise<void> {
        if (!(await this.#table.ensure(ruleset(input)))) return;
        this.#logger.info("masquerading rules installed", { table: `inet ${tableName}`, noSNAT: input.noSnat });
    }
}
