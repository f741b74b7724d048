import { withCookies, type Category, type FlowSet } from "@antrea/flows";
import { flowKey, type Flow } from "@antrea/openflow";
import { ObjectIds } from "./object-ids.ts";

/**
 * An owner that keeps a model instead of flows: it generates them for a replay or a repair, and otherwise passes the
 * changes to `FlowTable.apply`. Its category never changes. `size`, `counts` and `flows` describe the same flows.
 */
export interface FlowSource {
    readonly category: Category;
    /** Number of flows that it would generate. */
    readonly size: number;
    /** Number of flows by table number. */
    counts(): ReadonlyMap<number, number>;
    /** Generates the flows of the current model, without cookies. */
    flows(): Iterable<Flow>;
}

/**
 * The desired flows of one owner, or the source of them. Immutable: a change of the owner replaces the object, so that
 * identity shows whether it has changed.
 */
export interface Owned {
    readonly owner: string;
    /** In the cookies of its flows; see ObjectIds. */
    readonly objectId: number;
    readonly wanted: FlowSet | FlowSource;
}

/** The attributes that identify a flow in OVS, and its cookie if the owner is known (else absent or 0). */
export type FlowIdentity = Pick<Flow, "table" | "priority" | "match" | "cookie">;

/** The desired flows of all owners in memory, with an object ID for each owner; sends nothing and validates nothing. */
export class OwnedFlows {
    readonly #owners = new Map<string, Owned>();
    readonly #ids = new ObjectIds();

    /** Number of flows of all owners. */
    get size(): number {
        let count = 0;
        for (const { wanted } of this.#owners.values()) count += sizeOf(wanted);
        return count;
    }

    /** The flows of an owner; undefined if it has none. */
    get(owner: string): Owned | undefined {
        return this.#owners.get(owner);
    }

    /** All owners with their flows. */
    all(): readonly Owned[] {
        return [...this.#owners.values()];
    }

    /**
     * Sets the flows of the owner, or removes it (`wanted` undefined); returns the new state. The object ID stays the
     * same until the owner is removed.
     */
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

/** The flows of an owner, without their cookies; of a source generated at each iteration. */
export function wantedFlows(wanted: FlowSet | FlowSource): Iterable<Flow> {
    return isSource(wanted) ? wanted.flows() : wanted.flows;
}

function sizeOf(wanted: FlowSet | FlowSource): number {
    return isSource(wanted) ? wanted.size : wanted.flows.length;
}

function isSource(wanted: FlowSet | FlowSource): wanted is FlowSource {
    return typeof wanted.flows === "function";
}

/** Number of flows of these owners by table number; a table without flows is absent. */
export function countsOf(owners: readonly Owned[]): Map<number, number> {
    const counts = new Map<number, number>();
    const add = (table: number, count: number): void => void counts.set(table, (counts.get(table) ?? 0) + count);
    for (const { wanted } of owners) {
        if (isSource(wanted)) for (const [table, count] of wanted.counts()) add(table, count);
        else for (const { table } of wanted.flows) add(table, 1);
    }
    return counts;
}

/** Copies of these flows of the owner with their cookies: round (1..65535), category and object ID. */
export function stamped({ wanted, objectId }: Owned, flows: Iterable<Flow>, round: number): Flow[] {
    return withCookies({ category: wanted.category, flows: [...flows] }, round, objectId);
}

/** Indexes flows by `flowKey` (table, priority and match); of two with the same key the last wins. */
export function byIdentity<T extends FlowIdentity>(flows: Iterable<T>): Map<string, T> {
    const found = new Map<string, T>();
    for (const flow of flows) found.set(flowKey(flow), flow);
    return found;
}
