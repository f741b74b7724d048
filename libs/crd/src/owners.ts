import { type AllocationOwner } from "./types.ts";

/**
 * True if the owner of an IPAllocation is a Pod or a StatefulSet; agents and the controller release those only. An
 * allocation with another kind of owner, which may come from a later version, counts as a taken address for all who do
 * not maintain it.
 */
export function isOfPods({ kind }: Pick<AllocationOwner, "kind">): boolean {
    return kind === "Pod" || kind === "StatefulSet";
}
