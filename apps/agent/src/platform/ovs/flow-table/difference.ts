import { objectMask } from "@antrea/flows";
import { flowBodyKey, flowKey, type BundleMod, type Flow, type FlowMod, type GroupMod } from "@antrea/openflow";
import { groupDifference, wholeGroup } from "./group-difference.ts";
import { byIdentity, type FlowIdentity } from "./owned-flows.ts";
import type { Contents } from "./stamp.ts";

/**
 * The changes to send for one owner, with cookies and ids of groups in OVS: changes of groups that the flows need, flows
 * to add, which replace one of the same identity, flows to remove, and groups to remove.
 */
export interface Difference {
    readonly groups: readonly GroupMod[];
    readonly added: readonly Flow[];
    readonly removed: readonly FlowIdentity[];
    readonly removedGroups: readonly number[];
}

/** What OVS may have of an owner: identities of flows, and ids of groups in OVS. */
export interface Possible {
    readonly flows: readonly FlowIdentity[];
    readonly groups: readonly number[];
}

/** What OVS has of an owner with these contents. */
export function possible({ flows, groups }: Contents): Possible {
    return { flows, groups: groups.map(({ id }) => id) };
}

/** What OVS has if it has any of these; `doubt` is what it had before, if that is not known. */
export function either(doubt: Possible | undefined, ...others: readonly Possible[]): Possible {
    const all = [...(doubt?.flows ?? []), ...others.flatMap(({ flows }) => flows)];
    return {
        // Doubts add up, so that one flow counts once.
        flows: doubt === undefined ? all : [...byIdentity(all).values()],
        groups: [...new Set([...(doubt?.groups ?? []), ...others.flatMap(({ groups }) => groups)])],
    };
}

/** Whether OVS has none of the owner. */
export function isNothing({ flows, groups }: Possible): boolean {
    return flows.length + groups.length === 0;
}

/**
 * The changes from one state of an owner to another: groups and flows that are new or have other actions, and those that
 * are gone. Pure function.
 */
export function difference(before: Contents, after: Contents): Difference {
    if (before.flows.length === 0 && before.groups.length === 0) return whole(possible(before), after);
    const [present, kept] = [byIdentity(before.flows), byIdentity(after.flows)];
    const added = after.flows.filter((flow) => {
        const known = present.get(flowKey(flow));
        return known === undefined || flowBodyKey(known) !== flowBodyKey(flow);
    });
    const known = new Map(before.groups.map((group) => [group.id, group]));
    return {
        groups: after.groups.flatMap((group) => {
            const earlier = known.get(group.id);
            return earlier === undefined ? [wholeGroup(group)] : groupDifference(earlier, group);
        }),
        added,
        removed: goneFrom(present, kept),
        removedGroups: goneGroups(possible(before), after),
    };
}

/**
 * The changes to an owner if it is unknown which of `before` OVS has: all of `after` are added, and those of `before`
 * without a successor in it are removed. Pure function.
 */
export function whole(before: Possible, after: Contents): Difference {
    return {
        groups: after.groups.map((group) => wholeGroup(group)),
        added: after.flows,
        // Keys of all flows are a third of the time for a new owner, which has nothing to remove.
        removed: before.flows.length === 0 ? [] : goneFrom(byIdentity(before.flows), byIdentity(after.flows)),
        removedGroups: goneGroups(before, after),
    };
}

function goneFrom(
    present: ReadonlyMap<string, FlowIdentity>,
    kept: ReadonlyMap<string, unknown>,
): readonly FlowIdentity[] {
    return [...present].flatMap(([key, flow]) => (kept.has(key) ? [] : [flow]));
}

function goneGroups(before: Possible, { groups }: Contents): readonly number[] {
    const kept = new Set(groups.map(({ id }) => id));
    return before.groups.filter((id) => !kept.has(id));
}

/**
 * The messages for changes of several owners, for one ordered bundle: groups before the flows that use them, additions
 * before removals, so that no flow is missing in between. Removals of groups are last: OVS removes a group with all flows
 * that use it, and OVS 3.1 ends with an assertion if it has to take that back since it refuses a later message. A flow
 * that another owner has taken over is not removed, as it has the cookie of that owner; one without a cookie is removed
 * in any case.
 */
export function modsOf(changes: readonly Difference[]): BundleMod[] {
    return [
        ...changes.flatMap(({ groups }) => groups),
        ...changes.flatMap(({ added }) => added.map((flow): FlowMod => ({ command: "add", flow }))),
        ...changes.flatMap(({ removed }) =>
            removed.map(({ table, priority, match, cookie = 0n }): FlowMod => ({
                command: "delete_strict",
                flow: { table, priority, match, actions: [], cookie },
                cookieMask: cookie === 0n ? 0n : objectMask,
            })),
        ),
        ...changes.flatMap(({ removedGroups }) =>
            removedGroups.map((id): GroupMod => ({ command: "delete", group: { id } })),
        ),
    ];
}
