import { prefixSize, type Prefix, type RangeSet } from "@antrea/ip";
import { type AllocationCache } from "./allocation-cache.ts";

/** The allocations of a set's addresses in one block: used by a Pod (`allocated`) or not (`reserved`). */
export interface ClaimedInBlock {
    readonly block: Prefix;
    readonly allocated: number;
    readonly reserved: number;
    /** How many addresses of the set are in the block. */
    readonly size: bigint;
}

/**
 * Where addresses of `usable` are allocated, by block as text, whichever pool the allocations name: it may be deleted
 * or changed, and its allocations still take their addresses from all pools. Blocks without an allocation are absent.
 * The time depends on the number of ranges of `usable` and of blocks in use, not of addresses.
 */
export function claimedBlocks(
    usable: RangeSet,
    allocations: Pick<AllocationCache, "blocksIn">,
): ReadonlyMap<string, ClaimedInBlock> {
    const found = new Map<string, ClaimedInBlock>();
    for (const range of usable.ranges) {
        for (const [text, known] of allocations.blocksIn(range)) {
            if (found.has(text)) continue;
            const block = known.prefix;
            const inside = usable.within(block);
            let { allocated, reserved } = known;
            if (inside.size < prefixSize(block)) {
                const counted = [...known.allocations].filter(({ ip }) => inside.has(ip));
                allocated = counted.filter(({ pod }) => pod !== undefined).length;
                reserved = counted.length - allocated;
            }
            found.set(text, { block, allocated, reserved, size: inside.size });
        }
    }
    return found;
}
