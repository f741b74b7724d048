import type { Logger } from "@antrea/runtime";
import { NftTable, type RunNft } from "../../../platform/nftables.ts";

export interface HostGuardComponents {
    readonly logger: Logger;
    readonly nft: RunNft;
}

export interface HostGuardOptions {
    /** The group of the links that lead to Pods. */
    readonly linkGroup: number;
}

/** Of the table in each of the families inet and arp. */
export const tableName = "antrea-guard";

/**
 * Keeps what Pods send away from the Node's own stack. The userspace datapath of OVS reads copies of the frames: the
 * stack gets them too and would answer ARP, forward and deliver what comes in by a Pod's link, past every flow.
 */
export class HostGuard {
    readonly #logger: Logger;
    readonly #tables: readonly { readonly table: NftTable; readonly script: string }[];

    constructor({ logger, nft }: HostGuardComponents, { linkGroup }: HostGuardOptions) {
        this.#logger = logger;
        const hooks = { inet: "prerouting priority raw", arp: "input priority filter" } as const;
        this.#tables = (["inet", "arp"] as const).map((family) => ({
            table: new NftTable({ nft }, { family, name: tableName }),
            script: guardScript(family, hooks[family], linkGroup),
        }));
    }

    /** Puts the tables in place, or again when somebody changed or removed them. */
    async ensure(): Promise<void> {
        const made: boolean[] = [];
        for (const { table, script } of this.#tables) made.push(await table.ensure(script));
        if (made.includes(true)) this.#logger.info("host filter for Pod frames installed", { table: tableName });
    }
}

// "add" before "delete": deleting a table that is not there would fail the transaction.
function guardScript(family: string, hook: string, linkGroup: number): string {
    return `add table ${family} ${tableName}
delete table ${family} ${tableName}
table ${family} ${tableName} {
  chain pods {
    type filter hook ${hook}; policy accept;
    iifgroup ${linkGroup} drop
  }
}
`;
}
