import { groupBodyKey, type Group } from "@antrea/openflow";
import { inSlices } from "../../slices.ts";
import type { FlowLink } from "./flow-link.ts";
import { canDescribe } from "./group-numbers.ts";
import type { Owned } from "./owned-flows.ts";
import type { Stamp } from "./stamp.ts";

/** Groups that are read at a time: OVS answers each alone, as a request for all ends the connection if one is large. */
const readAtOnce = 100;

/** A group that OVS does not have as its owner wants it. */
export interface WrongGroup {
    readonly owned: Owned;
    readonly group: Group;
}

/**
 * Reads the groups of these owners, and resolves with those that are missing or differ. Those of more than 256 buckets
 * are not read: OVS may not be able to describe them. Rejects with OpenFlowError.
 */
export async function wrongGroups(
    link: Pick<FlowLink, "dumpGroups">,
    owners: readonly Owned[],
    stamp: Stamp,
): Promise<readonly WrongGroup[]> {
    const wanted: WrongGroup[] = [];
    await inSlices(owners, (owned) => {
        for (const group of stamp.groups(owned)) if (canDescribe(group.id)) wanted.push({ owned, group });
    });
    const wrong: WrongGroup[] = [];
    for (let start = 0; start < wanted.length; start += readAtOnce) {
        const some = wanted.slice(start, start + readAtOnce);
        const found = await Promise.all(some.map(({ group }) => link.dumpGroups(group.id)));
        some.forEach((one, at) => {
            const [present] = found[at] ?? [];
            if (present === undefined || groupBodyKey(present) !== groupBodyKey(one.group)) wrong.push(one);
        });
    }
    return wrong;
}
