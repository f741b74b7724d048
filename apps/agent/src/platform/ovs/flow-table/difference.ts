import { objectMask } from "@antrea/flows";
import { flowBodyKey, flowKey, type Flow, type FlowMod } from "@antrea/openflow";
import { byIdentity, type FlowIdentity } from "./owned-flows.ts";

/**
 * The changes to send for one owner, with cookies: flows to add, which replace one of the same identity, and flows to
 * remove.
 */
export interface Difference {
    readonly added: readonly Flow[];
    readonly removed: readonly FlowIdentity[];
}

/**
 * The changes from one list of flows to another, both with cookies: flows that are new or have other actions, and flows
 * that are gone. Pure function.
 */
export function difference(before: readonly Flow[], after: readonly Flow[]): Difference {
    if (before.length === 0) return { added: after, removed: [] };
    const [present, kept] = [byIdentity(before), byIdentity(after)];
    const added = after.filter((flow) => {
        const known = present.get(flowKey(flow));
        return known === undefined || flowBodyKey(known) !== flowBodyKey(flow);
    });
    return { added, removed: goneFrom(present, kept) };
}

/**
 * The changes to a list of flows, with cookies, if it is unknown which of `before` OVS has: all of `after` are added,
 * and those of `before` without a successor in it are removed. Pure function.
 */
export function whole(before: Iterable<FlowIdentity>, after: readonly Flow[]): Difference {
    return { added: after, removed: goneFrom(byIdentity(before), byIdentity(after)) };
}

function goneFrom(
    present: ReadonlyMap<string, FlowIdentity>,
    kept: ReadonlyMap<string, unknown>,
): readonly FlowIdentity[] {
    return [...present].flatMap(([key, flow]) => (kept.has(key) ? [] : [flow]));
}

/**
 * The messages for changes of several owners, for one bundle: additions first, so that no flow is missing in between. A
 * flow that another owner has taken over is not removed, as it has the cookie of that owner; one without a cookie is
 * removed in any case.
 */
export function modsOf(changes: readonly Difference[]): FlowMod[] {
    return [
        ...changes.flatMap(({ added }) => added.map((flow): FlowMod => ({ command: "add", flow }))),
        ...changes.flatMap(({ removed }) =>
            removed.map(({ table, priority, match, cookie = 0n }): FlowMod => ({
                command: "delete_strict",
                flow: { table, priority, match, actions: [], cookie },
                cookieMask: cookie === 0n ? 0n : objectMask,
            })),
        ),
    ];
}
