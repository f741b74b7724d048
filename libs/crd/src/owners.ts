import { type AllocationOwner } from "./types.ts";

/**
 * Whether the claim is a Pod's or a StatefulSet's: those are what agents and the controller give back. Claims of every
 * other kind of owner, one that a later version writes too, are taken addresses for whoever does not keep them itself.
 */
export function isOfPods({ kind }: Pick<AllocationOwner, "kind">): boolean {
    return kind === "Pod" || kind === "StatefulSet";
}
