import { Category, cookieOf, Table } from "@antrea/flows";
import type { FlowStats } from "@antrea/openflow";
import type { FlowTable } from "./flow-table.ts";

export interface EarlierFlowsComponents {
    readonly flowTable: Pick<FlowTable, "deleteRounds">;
    /** Brings what this agent learned into OVS; false while the API server has not told all of it. */
    readonly learned: (limit: AbortSignal) => Promise<boolean>;
    /** Notes that no flow of an earlier round is left. */
    readonly forgotten: (limit: AbortSignal) => Promise<void>;
}

/** Made of what only the API server knows: the Nodes, and the ranges of Services. */
const learnedCategories: ReadonlySet<number> = new Set([Category.nodeConnectivity, Category.service]);

/**
 * Where an agent of the release before has such flows. It put them into the categories of others, and no object id into
 * any cookie; its other flows in these tables lead to Pods and to the gateway, and harm nobody until they go too.
 */
const formerTables: ReadonlySet<number> = new Set([Table.L3Forwarding, Table.BridgedForwarding]);

function isLearned({ cookie, table }: FlowStats): boolean {
    const { category, objectId } = cookieOf(cookie);
    return objectId === 0 ? formerTables.has(table) : learnedCategories.has(category);
}

/**
 * The flows of the agents before this one. They go when this one's are in OVS; those that only the API server lets an
 * agent make stay until it has, however long it is away.
 */
export class EarlierFlows {
    readonly #components: EarlierFlowsComponents;
    readonly #rounds: readonly number[];
    #isDone = false;

    constructor(components: EarlierFlowsComponents, options: { readonly rounds: readonly number[] }) {
        this.#components = components;
        this.#rounds = options.rounds;
    }

    /** Deletes those that this agent could make again without the API server. To be called after the first replay. */
    async deleteOwn(): Promise<void> {
        await this.#components.flowTable.deleteRounds(this.#rounds, { except: isLearned });
    }

    /** Deletes the others, once there is something in their place. To be called when the Nodes are known; again and again. */
    async deleteLearned(limit: AbortSignal): Promise<void> {
        if (this.#isDone || !(await this.#components.learned(limit))) return;
        await this.#components.flowTable.deleteRounds(this.#rounds);
        await this.#components.forgotten(limit);
        this.#isDone = true;
    }
}
