import { Category, cookieOf, Table } from "@antrea/flows";
import type { FlowStats } from "@antrea/openflow";
import type { FlowTable } from "./flow-table.ts";

/** Dependencies of EarlierFlows. */
export interface EarlierFlowsComponents {
    readonly flowTable: Pick<FlowTable, "deleteRounds">;
    /** Installs the flows learned from the API server in OVS; false while some of them are not known yet. */
    readonly learned: (limit: AbortSignal) => Promise<boolean>;
    /** Records, in OVSDB, that no flow of an earlier round is left. */
    readonly forgotten: (limit: AbortSignal) => Promise<void>;
}

/**
 * Categories of flows derived from the API server: the Nodes; Services, with their groups, and the Service CIDRs; the mark
 * that these are all Services.
 */
const learnedCategories: ReadonlySet<number> = new Set([
    Category.nodeConnectivity,
    Category.service,
    Category.servicesComplete,
]);

/**
 * Tables in which an agent of the previous release has such flows. It used categories of others for them, and no object
 * ID in any cookie; its other flows in these tables lead to Pods and the gateway, and are harmless until they are
 * deleted too.
 */
const formerTables: ReadonlySet<number> = new Set([Table.L3Forwarding, Table.BridgedForwarding]);

function isLearned({ cookie, table }: FlowStats): boolean {
    const { category, objectId } = cookieOf(cookie);
    return objectId === 0 ? formerTables.has(table) : learnedCategories.has(category);
}

/**
 * The flows of earlier starts of the agent, by their `rounds`. They are deleted once those of this agent are installed;
 * flows that depend on the API server are kept until it has answered, however long it is unavailable. Without rounds
 * they are identified by their cookies, see `FlowTable.deleteRounds`.
 */
export class EarlierFlows {
    readonly #components: EarlierFlowsComponents;
    readonly #rounds: readonly number[];
    #isDone = false;

    constructor(components: EarlierFlowsComponents, options: { readonly rounds: readonly number[] }) {
        this.#components = components;
        this.#rounds = options.rounds;
    }

    /**
     * Deletes the flows that this agent can replace without the API server. To be called after the first replay.
     * Idempotent. Rejects with OpenFlowError, on abort `ABORTED`; some may be deleted then.
     */
    async deleteOwn(signal: AbortSignal): Promise<void> {
        await this.#components.flowTable.deleteRounds(this.#rounds, { except: isLearned, signal });
    }

    /**
     * Deletes the others once they are replaced, and records it. To be called repeatedly from when the Nodes are
     * synced; no effect afterwards. Rejects with OpenFlowError, or the error of `learned` or `forgotten`; the next call
     * tries again.
     */
    async deleteLearned(limit: AbortSignal): Promise<void> {
        if (this.#isDone || !(await this.#components.learned(limit))) return;
        await this.#components.flowTable.deleteRounds(this.#rounds, { signal: limit });
        await this.#components.forgotten(limit);
        this.#isDone = true;
    }
}
