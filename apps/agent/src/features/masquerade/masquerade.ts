import type { Logger } from "@antrea/runtime";
import { NftTable, type RulesGeneration, type RunNft } from "../../platform/nftables.ts";
import { ruleset, tableName, type MasqueradeInput } from "./ruleset.ts";

/** Dependencies of Masquerade. */
export interface MasqueradeComponents {
    readonly logger: Logger;
    readonly nft: RunNft;
    readonly generation: RulesGeneration;
}

/**
 * Maintains the nftables table `inet antrea` of masquerading, which stays when the agent stops. Calls must not overlap.
 */
export class Masquerade {
    readonly #logger: Logger;
    readonly #table: NftTable;

    constructor({ generation, logger, nft }: MasqueradeComponents) {
        this.#logger = logger;
        this.#table = new NftTable({ generation, nft }, { family: "inet", name: tableName });
    }

    /**
     * Replaces the table if its rules differ, or if it was changed or removed. Rejects with NftError; the kernel
     * applies the rules as a whole or not at all.
     */
    async reconcile(input: MasqueradeInput): Promise<void> {
        if (!(await this.#table.ensure(ruleset(input)))) return;
        this.#logger.info("masquerading rules installed", { table: `inet ${tableName}`, noSNAT: input.noSnat });
    }
}
