import { type IpPoolUsage } from "@antrea/crd";
import { formatPrefix, type RangeSet } from "@antrea/ip";
import { freeBlocks, saturate } from "@antrea/ipam";
import { type ClaimedInBlock } from "../../platform/allocations/index.ts";

/**
 * Usage of a pool and, as hints, blocks with free addresses (`freeBlocks`) as text, from the addresses that it assigns
 * and the allocations among them. Counts above 2^53-1 become that. Pure function.
 *
 * @param claimed result of `claimedBlocks` for `usable`
 */
export function measure(
    usable: RangeSet,
    claimed: ReadonlyMap<string, ClaimedInBlock>,
): { readonly usage: IpPoolUsage; readonly freeBlocks: readonly string[] } {
    let used = 0;
    let reserved = 0;
    for (const block of claimed.values()) {
        used += block.allocated;
        reserved += block.reserved;
    }
    const usage = {
        total: saturate(usable.size),
        used,
        reserved,
        free: saturate(usable.size - BigInt(used + reserved)),
    };
    const claimedIn = (block: string): number => {
        const { allocated = 0, reserved: held = 0 } = claimed.get(block) ?? {};
        return allocated + held;
    };
    const blocks = freeBlocks(usable, (block) => claimedIn(formatPrefix(block)));
    return { usage, freeBlocks: blocks.map(formatPrefix) };
}
