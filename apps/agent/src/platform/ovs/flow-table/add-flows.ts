import { Category } from "@antrea/flows";
import { isErrorOf } from "@antrea/errors";
import { OpenFlowError, type BundleMod } from "@antrea/openflow";
import { modsOf, possible, whole } from "./difference.ts";
import type { FlowLink } from "./flow-link.ts";
import type { Owned } from "./owned-flows.ts";
import { nothing, type Contents } from "./stamp.ts";

/** Flows and groups of one owner, all or some, as OVS gets them. */
export interface OwnerFlows extends Contents {
    readonly owned: Owned;
}

/** An owner whose flows OVS refused, with the OpenFlowError `REFUSED` for these alone; OVS may have any of them. */
export interface RefusedOwner {
    readonly owned: Owned;
    readonly error: OpenFlowError;
}

/**
 * Without these flows OVS would forward what it must not, so that nothing is sent after them if OVS refuses them.
 */
const required: ReadonlySet<number> = new Set([Category.default, Category.networkPolicy]);

/**
 * Adds groups and flows of several owners in one bundle, groups first. If OVS refuses it, sends each owner's alone, and
 * returns the owners whose flows are refused again ([] if none): one of them must not keep OVS from the flows of all
 * others. Rejects with OpenFlowError; with `REFUSED` only for the pipeline and for policies. After a rejection OVS may
 * have the flows of preceding owners.
 *
 * @param isDue asked of each owner right before its flows are sent, also alone; those of the others are left out
 */
export async function addFlows(
    link: Pick<FlowLink, "bundle">,
    parts: readonly OwnerFlows[],
    isDue: (owned: Owned) => boolean = () => true,
): Promise<readonly RefusedOwner[]> {
    const modsFor = (some: readonly OwnerFlows[]): BundleMod[] =>
        modsOf(some.map((part) => whole(possible(nothing), part)));
    try {
        await link.bundle(modsFor(parts.filter(({ owned }) => isDue(owned))));
        return [];
    } catch (error) {
        if (!isErrorOf(OpenFlowError, error, "REFUSED")) throw error;
    }
    const refused: RefusedOwner[] = [];
    for (const part of parts) {
        if (!isDue(part.owned)) continue;
        try {
            await link.bundle(modsFor([part]));
        } catch (error) {
            if (!isErrorOf(OpenFlowError, error, "REFUSED") || required.has(part.owned.wanted.category)) throw error;
            refused.push({ owned: part.owned, error });
        }
    }
    return refused;
}
