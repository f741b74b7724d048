import { prefixSize, type Prefix, type RangeSet } from "@antrea/ip";
import { type ClaimBook } from "./claim-book.ts";

/** The claimed addresses of a set of addresses in one block. */
export interface ClaimedInBlock {
    readonly block: Prefix;
    readonly allocated: number;
    readonly reserved: number;
    /** How many addresses of the set lie in the block. */
    readonly size: bigint;
}

/**
 * Where addresses of `usable` are claimed, by block as text. `pools` names every pool whose claims can be among them: a
 * pool and those that overlap it. Takes time by the number of blocks in use, not of addresses.
 */
export function claimedBlocks(
    usable: RangeSet,
    claims: Pick<ClaimBook, "block" | "blocksOf">,
    pools: Iterable<string>,
): ReadonlyMap<string, ClaimedInBlock> {
    const found = new Map<string, ClaimedInBlock>();
    for (const pool of pools) {
        for (const text of claims.blocksOf(pool)) {
            if (found.has(text)) continue;
            const known = claims.block(text);
            if (known === undefined) continue;
            const block = known.prefix;
            const inside = usable.within(block);
            if (inside.isEmpty) continue;
            let { allocated, reserved } = known;
            if (inside.size < prefixSize(block)) {
                const counted = [...known.claims].filter(({ ip }) => inside.has(ip));
                allocated = counted.filter(({ pod }) => pod !== undefined).length;
                reserved = counted.length - allocated;
            }
            found.set(text, { block, allocated, reserved, size: inside.size });
        }
    }
    return found;
}
