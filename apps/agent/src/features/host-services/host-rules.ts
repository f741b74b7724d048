import type { Clock } from "@antrea/async";
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
    readonly clock: Clock;
}

/** Whether the host has the rules of all Services. */
export interface RulesState {
    /** Whether the table was written by this start, or was there from an earlier one. */
    readonly areInstalled: boolean;
    /** Milliseconds for which the oldest change, or a repair, has been waiting; undefined: none is. */
    readonly waitingMs: number | undefined;
}

/**
 * Keeps the nftables table `inet antrea-services` with the elements of all Services. An element belongs to the Service that
 * set it last: one that loses an address to another Service takes nothing from it, whichever is reported first. Calls of
 * `ensure` must not overlap.
 */
export class HostRules {
    readonly #clock: Clock;
    readonly #logger: Logger;
    readonly #nft: RunNft;
    readonly #table: NftTable;
    readonly #script: string;
    readonly #ofService = new Map<string, readonly RuleElement[]>();
    readonly #owners = new Map<string, string>();
    #areInstalled = false;
    /** Since when the oldest change waits that no `ensure` has begun to write, and that one of the current call. */
    #waitingSince: number | undefined;
    #writingSince: number | undefined;

    constructor({ clock, generation, logger, nft }: HostRulesComponents, input: RulesetInput) {
        this.#clock = clock;
        this.#logger = logger;
        this.#nft = nft;
        this.#table = new NftTable({ generation, nft }, { family: "inet", name: tableName, sets: allSets });
        this.#script = ruleset(input);
    }

    /** The state now. */
    get state(): RulesState {
        const since = this.#writingSince ?? this.#waitingSince;
        return {
            areInstalled: this.#areInstalled,
            waitingMs: since === undefined ? undefined : this.#clock.monotonic() - since,
        };
    }

    /**
     * The stand-ins that the table of an earlier start has; none without such a table. Rejects with NftError.
     */
    async standIns(): Promise<readonly (readonly [ip: IpAddress, standIn: IpAddress])[]> {
        if (!(await hasTable(this.#nft))) return [];
        this.#areInstalled = true;
        const listing = await this.#nft(["-n", "list", "table", "inet", tableName], "");
        const maps = listing.matchAll(/^\tmap own[46] \{\n[^}]*/gm);
        const elements = [...maps].flatMap(([text]) => [
            ...text.matchAll(/([0-9a-f.:]+) \. \d+ \. \d+ : ([0-9a-f.:]+)/g),
        ]);
        return elements.map(([, ip = "", standIn = ""]) => [parseIp(ip), parseIp(standIn)]);
    }

    /** Replaces the elements of a Service, which `ensure` writes. Returns whether there is something to write. */
    set(service: string, elements: readonly RuleElement[]): boolean {
        const kept = new Set(elements.map(keyOf));
        let hasChanged = false;
        for (const one of this.#ofService.get(service) ?? []) {
            const key = keyOf(one);
            if (kept.has(key) || this.#owners.get(key) !== service) continue;
            this.#owners.delete(key);
            if (this.#table.setElement(one.set, one.element, undefined)) hasChanged = true;
        }
        for (const one of elements) {
            this.#owners.set(keyOf(one), service);
            if (this.#table.setElement(one.set, one.element, one.value)) hasChanged = true;
        }
        if (elements.length === 0) this.#ofService.delete(service);
        else this.#ofService.set(service, elements);
        if (hasChanged) this.#waitingSince ??= this.#clock.monotonic();
        return hasChanged;
    }

    /**
     * Writes changed elements, or the whole table if somebody else changed or removed it. Rejects with NftError; the next
     * call tries again.
     */
    async ensure(): Promise<void> {
        const since = this.#waitingSince ?? this.#clock.monotonic();
        this.#writingSince = since;
        // of what changes from here on a further call takes care
        this.#waitingSince = undefined;
        try {
            const isReplaced = await this.#table.ensure(this.#script);
            this.#areInstalled = true;
            if (!isReplaced) return;
        } catch (error) {
            this.#waitingSince = since;
            throw error;
        } finally {
            this.#writingSince = undefined;
        }
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
