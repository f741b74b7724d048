import { type AllocationState } from "@antrea/crd";
import { type IpAddress, type Prefix, type RangeSet } from "@antrea/ip";
import { blocksOf } from "./blocks.ts";

const highest = BigInt(Number.MAX_SAFE_INTEGER);

/** Converts a count to a number; larger ones become 2^53-1, the largest integer that is exact in JSON. */
export function saturate(count: bigint): number {
    return Number(count < highest ? count : highest);
}

/** Number of addresses that a pool hands out, and their use. `total` = `used` + `reserved` + `free`. */
export interface PoolUsage {
    /** Addresses that the pool hands out. */
    readonly total: bigint;
    /** Addresses that a Pod uses. */
    readonly used: bigint;
    /** Addresses held for an owner that no Pod uses now. */
    readonly reserved: bigint;
    /** Addresses that are neither used nor reserved. */
    readonly free: bigint;
}

/**
 * Counts the allocations of a pool's usable addresses, whichever pool they name: where pools overlap, an address
 * allocated from one is not free in the other. Other allocations are skipped, so all of them may be passed, each
 * address once.
 */
export function poolUsage(
    usable: RangeSet,
    allocations: Iterable<{ readonly ip: IpAddress; readonly state: AllocationState }>,
): PoolUsage {
    let used = 0n;
    let reserved = 0n;
    for (const { ip, state } of allocations) {
        if (!usable.has(ip)) continue;
        if (state === "Allocated") used += 1n;
        else reserved += 1n;
    }
    return { total: usable.size, used, reserved, free: usable.size - used - reserved };
}

const defaultHints = 32;
const longestWalk = 65_536n;
// A block with this many free addresses is as good a hint as an unused one, so hints rarely change.
const roomy = 128n;

/**
 * Returns blocks (/24 for IPv4, /120 for IPv6) with free addresses, spread over the pool; those with at least 128
 * first, then by number. At most 65,536 blocks are searched: a larger pool without a free address in those gives no
 * hint.
 *
 * @param claimedIn returns the number of usable addresses of a block that are allocated
 * @param limit number of blocks; default 32
 */
export function freeBlocks(
    usable: RangeSet,
    claimedIn: (block: Prefix) => number,
    limit: number = defaultHints,
): readonly Prefix[] {
    const blocks = blocksOf(usable);
    const stride = strideThrough(blocks.count);
    const walk = blocks.count < longestWalk ? blocks.count : longestWalk;
    const good: Prefix[] = [];
    const poor: { readonly block: Prefix; readonly free: bigint }[] = [];
    for (let step = 0n; step < walk && good.length < limit; step += 1n) {
        const block = blocks.at((step * stride) % blocks.count);
        const free = usable.within(block).size - BigInt(claimedIn(block));
        if (free >= roomy) good.push(block);
        else if (free > 0n) poor.push({ block, free });
    }
    poor.sort((a, b) => Number(b.free - a.free));
    return [...good, ...poor.map(({ block }) => block)].slice(0, limit);
}

// A step of about the golden ratio of the whole spreads any number of steps evenly; a step that is coprime to the whole
// reaches each block once.
function strideThrough(count: bigint): bigint {
    let stride = (count * 618n) / 1000n || 1n;
    while (divisor(stride, count) !== 1n) stride += 1n;
    return stride;
}

function divisor(a: bigint, b: bigint): bigint {
    return b === 0n ? a : divisor(b, a % b);
}
