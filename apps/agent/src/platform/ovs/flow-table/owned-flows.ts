import { withCookies, type Category, type FlowSet } from "@antrea/flows";
import { flowKey, type Flow } from "@antrea/openflow";
import { ObjectIds } from "./object-ids.ts";

/**
 * An owner that keeps a model in place of flows: it makes them when a replay or a repair asks, and hands over what
 * changes otherwise.
 */
export interface FlowSource {
    readonly category: Category;
    /** How many flows it would make. */
    readonly size: number;
    /** How many of them are in each table. */
    counts(): ReadonlyMap<number, number>;
    /** Makes them, of the model as it is now. */
    flows(): Iterable<Flow>;
}

/** The desired flows of one owner. Never changed: whatever its owner changes takes another one. */
export interface Owned {
    readonly owner: string;
    readonly objectId: number;
    readonly wanted: FlowSet | FlowSource;
}

/** What identifies a flow. */
export type FlowIdentity = Pick<Flow, "table" | "priority" | "match">;

/** The desired flows of all owners. */
export class OwnedFlows {
    readonly #owners = new Map<string, Owned>();
    readonly #ids = new ObjectIds();

    get size(): number {
        let count = 0;
        for (const { wanted } of this.#owners.values()) count += sizeOf(wanted);
        return count;
    }

    get(owner: string): Owned | undefined {
        return this.#owners.get(owner);
    }

    all(): readonly Owned[] {
        return [...this.#owners.values()];
    }

    /** Makes these the flows of the owner, or takes it out. */
    put(owner: string, wanted: FlowSet | FlowSource | undefined): Owned | undefined {
        const before = this.#owners.get(owner);
        if (wanted === undefined) {
            if (before !== undefined) this.#ids.free(before.objectId);
            this.#owners.delete(owner);
            return undefined;
        }
        const owned = { owner, objectId: before?.objectId ?? this.#ids.take(owner), wanted };
        this.#owners.set(owner, owned);
        return owned;
    }
}

/** The flows of an owner, without their cookies. */
export function wantedFlows(wanted: FlowSet | FlowSource): Iterable<Flow> {
    return isSource(wanted) ? wanted.flows() : wanted.flows;
}

function sizeOf(wanted: FlowSet | FlowSource): number {
    return isSource(wanted) ? wanted.size : wanted.flows.length;
}

function isSource(wanted: FlowSet | FlowSource): wanted is FlowSource {
    return typeof wanted.flows === "function";
}

/** How many flows of these owners are in each table. */
export function countsOf(owners: readonly Owned[]): Map<number, number> {
    const counts = new Map<number, number>();
    const add = (table: number, count: number): void => void counts.set(table, (counts.get(table) ?? 0) + count);
    for (const { wanted } of owners) {
        if (isSource(wanted)) for (const [table, count] of wanted.counts()) add(table, count);
        else for (const { table } of wanted.flows) add(table, 1);
    }
    return counts;
}

/** Flows of an owner with their cookies. */
export function stamped({ wanted, objectId }: Owned, flows: Iterable<Flow>, round: number): Flow[] {
    return withCookies({ category: wanted.category, flows: [...flows] }, round, objectId);
}

/** The same flows by what identifies them; of two with one identity the last. */
export function byIdentity<T extends FlowIdentity>(flows: Iterable<T>): Map<string, T> {
    const found = new Map<string, T>();
    for (const flow of flows) found.set(flowKey(flow), flow);
    return found;
}
