import { type AllocationOwner } from "./types.ts";

/**
 * True if the owner of an IPAllocation is a Pod or a StatefulSet: only those are released because Pods are gone. Those
 * of Nodes and gateways belong to the controller's node-addresses; an allocation with another kind of owner, which may
 * come from a later version, counts as a taken address.
 */
export function isOfPods({ kind }: Pick<AllocationOwner, "kind">): boolean {
    return kind === "Pod" || kind === "StatefulSet";
}
