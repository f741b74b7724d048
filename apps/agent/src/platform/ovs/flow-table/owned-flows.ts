import { type Category, type FlowSet } from "@antrea/flows";
import { flowKey, type Flow, type Group } from "@antrea/openflow";
import { ObjectIds } from "./object-ids.ts";

/**
 * Flows of an owner, and the groups that they use. The id of a group is 0 to 2^20-1 and unique in the owner; actions of
 * flows name it, and the flow table replaces it by the id in OVS. Keep it for as long as the group has the same purpose.
 * Buckets use no groups. Only owners of category `service` have groups: those of earlier starts are found by their flows.
 */
export interface FlowsAndGroups extends FlowSet {
    readonly groups?: readonly Group[];
}

/**
 * What an owner keeps instead of flows: it generates them for a change, a replay or a repair. Its category never changes.
 * `size`, `counts` and `flows` describe the same flows.
 */
export interface FlowSource {
    readonly category: Category;
    /**
     * The source always generates the same flows and groups; a change of the owner replaces it by another one. Otherwise
     * it is a model that changes, is staged once and passes its changes to `FlowTable.apply`. Default false.
     */
    readonly isConstant?: boolean;
    /** Number of flows that it would generate. */
    readonly size: number;
    /** Number of flows by table number. */
    counts(): ReadonlyMap<number, number>;
    /** Generates the flows of the current model, without cookies. */
    flows(): Iterable<Flow>;
    /** Generates the groups that these flows use, as those of FlowsAndGroups. Absent: none. */
    groups?(): readonly Group[];
}

/** What an owner wants in OVS, or the source of it. */
export type Wanted = FlowsAndGroups | FlowSource;

/**
 * The desired flows and groups of one owner, or the source of them. Immutable: a change of the owner replaces the
 * object, so that identity shows whether it has changed.
 */
export interface Owned {
    readonly owner: string;
    /** In the cookies of its flows; see ObjectIds. */
    readonly objectId: number;
    readonly wanted: Wanted;
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

    /** Whether this is still what its owner wants. */
    isCurrent(owned: Owned): boolean {
        return this.#owners.get(owned.owner) === owned;
    }

    /** All owners with their flows. */
    all(): readonly Owned[] {
        return [...this.#owners.values()];
    }

    /**
     * Sets the flows of the owner, or removes it (`wanted` undefined); returns the new state. The object ID stays the
     * same until the owner is removed.
     */
    put(owner: string, wanted: Wanted | undefined): Owned | undefined {
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
export function wantedFlows(wanted: Wanted): Iterable<Flow> {
    return isSource(wanted) ? wanted.flows() : wanted.flows;
}

/** The groups of an owner, with their ids in the owner; of a source generated at each call. */
export function wantedGroups(wanted: Wanted): readonly Group[] {
    return (isSource(wanted) ? wanted.groups?.() : wanted.groups) ?? [];
}

/** Whether two readings of the flows of the same object can differ. */
export function canChange(wanted: Wanted): boolean {
    return isSource(wanted) && wanted.isConstant !== true;
}

function sizeOf(wanted: Wanted): number {
    return isSource(wanted) ? wanted.size : wanted.flows.length;
}

function isSource(wanted: Wanted): wanted is FlowSource {
    return typeof wanted.flows === "function";
}

/** Adds the number of flows of this owner to `counts`, by table number. */
export function addCounts(counts: Map<number, number>, { wanted }: Owned): void {
    const add = (table: number, count: number): void => void counts.set(table, (counts.get(table) ?? 0) + count);
    if (isSource(wanted)) for (const [table, count] of wanted.counts()) add(table, count);
    else for (const { table } of wanted.flows) add(table, 1);
}

/** Indexes flows by `flowKey` (table, priority and match); of two with the same key the last wins. */
export function byIdentity<T extends FlowIdentity>(flows: Iterable<T>): Map<string, T> {
    const found = new Map<string, T>();
    for (const flow of flows) found.set(flowKey(flow), flow);
    return found;
}
