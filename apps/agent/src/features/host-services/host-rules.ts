import { parseIp, type IpAddress } from "@antrea/ip";
import type { Logger } from "@antrea/runtime";
import { NftTable, type RulesGeneration, type RunNft } from "../../platform/nftables.ts";
import type { RuleElement } from "./elements.ts";
import { allSets, ruleset, tableName, type RulesetInput } from "./ruleset.ts";

/** Dependencies of HostRules. */
export interface HostRulesComponents {
    readonly logger: Logger;
    readonly nft: RunNft;
    readonly generation: RulesGeneration;
}

/**
 * Keeps the nftables table `inet antrea-services` with the elements of all Services. An element belongs to the Service that
 * set it last: one that loses an address to another Service takes nothing from it, whichever is reported first. Calls of
 * `ensure` must not overlap.
 */
export class HostRules {
    readonly #logger: Logger;
    readonly #nft: RunNft;
    readonly #table: NftTable;
    readonly #script: string;
    readonly #ofService = new Map<string, readonly RuleElement[]>();
    readonly #owners = new Map<string, string>();

    constructor({ generation, logger, nft }: HostRulesComponents, input: RulesetInput) {
        this.#logger = logger;
        this.#nft = nft;
        this.#table = new NftTable({ generation, nft }, { family: "inet", name: tableName, sets: allSets });
        this.#script = ruleset(input);
    }

    /**
     * The stand-ins that the table of an earlier start has; none without such a table. Rejects with NftError.
     */
    async standIns(): Promise<readonly (readonly [ip: IpAddress, standIn: IpAddress])[]> {
        if (!(await hasTable(this.#nft))) return [];
        const listing = await this.#nft(["-n", "list", "table", "inet", tableName], "");
        const maps = listing.matchAll(/^\tmap own[46] \{\n[^}]*/gm);
        const elements = [...maps].flatMap(([text]) => [
            ...text.matchAll(/([0-9a-f.:]+) \. \d+ \. \d+ : ([0-9a-f.:]+)/g),
        ]);
        return elements.map(([, ip = "", standIn = ""]) => [parseIp(ip), parseIp(standIn)]);
    }

    /** Replaces the elements of a Service, which `ensure` writes. */
    set(service: string, elements: readonly RuleElement[]): void {
        const kept = new Set(elements.map(keyOf));
        for (const one of this.#ofService.get(service) ?? []) {
            const key = keyOf(one);
            if (kept.has(key) || this.#owners.get(key) !== service) continue;
            this.#owners.delete(key);
            this.#table.setElement(one.set, one.element, undefined);
        }
        for (const one of elements) {
            this.#owners.set(keyOf(one), service);
            this.#table.setElement(one.set, one.element, one.value);
        }
        if (elements.length === 0) this.#ofService.delete(service);
        else this.#ofService.set(service, elements);
    }

    /**
     * Writes changed elements, or the whole table if somebody else changed or removed it. Rejects with NftError; the next
     * call tries again.
     */
    async ensure(): Promise<void> {
        if (!(await this.#table.ensure(this.#script))) return;
        this.#logger.info("rules of Services installed", {
            table: `inet ${tableName}`,
            services: this.#ofService.size,
        });
    }
}

function keyOf({ set, element }: RuleElement): string {
    return `${set} ${element}`;
}

/** Removes the table, if it is there. Rejects with NftError. */
export async function removeHostRules({ logger, nft }: Pick<HostRulesComponents, "logger" | "nft">): Promise<void> {
    if (!(await hasTable(nft))) return;
    await nft(["delete", "table", "inet", tableName], "");
    logger.info("rules of Services removed", { table: `inet ${tableName}` });
}

async function hasTable(nft: RunNft): Promise<boolean> {
    const tables = await nft(["list", "tables", "inet"], "");
    return tables.split("\n").includes(`table inet ${tableName}`);
}
