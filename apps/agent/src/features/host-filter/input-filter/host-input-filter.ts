import type { Logger } from "@antrea/runtime";
import { NftTable, type RulesGeneration, type RunNft } from "../../../platform/nftables.ts";

/** Dependencies of HostInputFilter. */
export interface HostInputFilterComponents {
    readonly logger: Logger;
    readonly nft: RunNft;
    readonly generation: RulesGeneration;
}

/** Settings of HostInputFilter. */
export interface HostInputFilterOptions {
    /** The group (IFLA_GROUP) of the host ends of Pods' links, whose frames are dropped. */
    readonly linkGroup: number;
}

/** The name of the nftables tables of the host input filter, one in each of the families inet and arp. */
export const tableName = "antrea-guard";

/**
 * The host input filter: keeps frames of Pods from the Node's own network stack. The userspace datapath of OVS reads
 * copies of the frames: the stack receives them too and would answer ARP, forward and deliver what arrives on a Pod's
 * link, bypassing all flows. `ensure` is repeated by a job; the tables stay when the agent stops.
 */
export class HostInputFilter {
    readonly #logger: Logger;
    readonly #tables: readonly { readonly table: NftTable; readonly script: string }[];

    constructor({ generation, logger, nft }: HostInputFilterComponents, { linkGroup }: HostInputFilterOptions) {
        this.#logger = logger;
        const hooks = { inet: "prerouting priority raw", arp: "input priority filter" } as const;
        this.#tables = (["inet", "arp"] as const).map((family) => ({
            table: new NftTable({ generation, nft }, { family, name: tableName }),
            script: inputFilterScript(family, hooks[family], linkGroup),
        }));
    }

    /**
     * Installs the tables, or reinstalls them if they were changed or removed. Rejects with NftError: one of the two
     * tables may be installed then, and the next call completes them.
     */
    async ensure(): Promise<void> {
        const made: boolean[] = [];
        for (const { table, script } of this.#tables) made.push(await table.ensure(script));
        if (made.includes(true)) this.#logger.info("host input filter for Pod frames installed", { table: tableName });
    }
}

// "add" before "delete": deleting a table that does not exist would fail the transaction.
function inputFilterScript(family: string, hook: string, linkGroup: number): string {
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
