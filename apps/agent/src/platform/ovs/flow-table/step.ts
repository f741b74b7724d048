import { OpenFlowError, type Flow } from "@antrea/openflow";
import { whole, type Difference, type Possible } from "./difference.ts";
import type { FlowIdentity, FlowsAndGroups, FlowSource, Owned, OwnedFlows } from "./owned-flows.ts";
import type { Contents } from "./stamp.ts";

/**
 * The change of one owner in a transaction of `FlowTable.apply`: all its flows and groups, or, for an owner with a model
 * as its source, the difference.
 */
export type OwnerChange =
    /**
     * All its flows and groups, or a constant source of them; undefined removes the owner. `whole`: all of them are sent,
     * not only the changed ones.
     */
    | { readonly owner: string; readonly flows: FlowsAndGroups | FlowSource | undefined; readonly whole?: boolean }
    /**
     * For a staged model without groups: its changes, which have been made already, as new or changed and removed flows.
     */
    | { readonly owner: string; readonly added: readonly Flow[]; readonly removed: readonly FlowIdentity[] };

/** The changes without those that a later one of the same owner replaces: a bundle has all removals at its end. */
export function withoutReplaced(changes: readonly OwnerChange[]): readonly OwnerChange[] {
    const last = new Map(changes.flatMap((change) => ("flows" in change ? [[change.owner, change]] : [])));
    return changes.filter((change) => !("flows" in change) || last.get(change.owner) === change);
}

/** The change of one owner by one call: before, after, and what OVS may have until the call has ended. */
export interface Step extends Difference {
    readonly owner: string;
    readonly before: Owned | undefined;
    readonly after: Owned | undefined;
    readonly doubtBefore: Possible | undefined;
    readonly doubt: Possible;
    /** When it began: see `Doubts.isUncertainSince`. */
    readonly since: number;
    /** What the owner has after it; undefined for the change of a model. */
    readonly contents: Contents | undefined;
}

/**
 * The same changes without reliance on what OVS has: it refuses a difference if another program has deleted or changed
 * groups of the owner. Undefined if no owner had groups to rely on, or if one has changed since.
 */
export function withoutReliance(steps: readonly Step[], owners: OwnedFlows): readonly Difference[] | undefined {
    if (!steps.some(({ before, contents }) => before !== undefined && (contents?.groups.length ?? 0) > 0)) {
        return undefined;
    }
    const made = steps.flatMap(({ owner, after, doubt, contents }) =>
        contents === undefined || owners.get(owner) !== after ? [] : [whole(doubt, contents)],
    );
    return made.length === steps.length ? made : undefined;
}

/** Whether OVS could not parse one message of a bundle and committed the others. */
export function isPartial(error: unknown): boolean {
    return error instanceof OpenFlowError && error.details.partial === true;
}
