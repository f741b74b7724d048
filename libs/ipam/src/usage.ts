import { type AllocationState } from "@antrea/crd";
import { type IpAddress, type Prefix, type RangeSet } from "@antrea/ip";
import { blocksOf } from "./blocks.ts";

const highest = BigInt(Number.MAX_SAFE_INTEGER);

/** The count as a number of JSON, which ends at 2^53-1. */
export function saturate(count: bigint): number {
    return Number(count < highest ? count : highest);
}

/** How many addresses a pool hands out, and how they are used. `total` = `used` + `reserved` + `free`. */
export interface PoolUsage {
    readonly total: bigint;
    /** A Pod has the address. */
    readonly used: bigint;
    /** Held for an owner, no Pod has it now. */
    readonly reserved: bigint;
    readonly free: bigint;
}

/**
 * Counts the claims of a pool's usable addresses, whichever pool they name: where pools overlap, what one claims the
 * other cannot give. Claims of other addresses do not count, so all claims there are may be handed in.
 */
export function poolUsage(
    usable: RangeSet,
    claims: Iterable<{ readonly ip: IpAddress; readonly state: AllocationState }>,
): PoolUsage {
    let used = 0n;
    let reserved = 0n;
    for (const { ip, state } of claims) {
        if (!usable.has(ip)) continue;
        if (state === "Allocated") used += 1n;
        else reserved += 1n;
    }
    return { total: usable.size, used, reserved, free: usable.size - used - reserved };
}

const defaultHints = 32;
const longestWalk = 65_536n;
// A block with as many free addresses is as good a hint as an untouched one, so hints rarely change.
const roomy = 128n;

/**
 * Blocks in which addresses are free, spread over the pool; those with room for many come before others. Up to 65,536
 * blocks are looked at, and as few as will do: a pool of more blocks with none free among those gives no hint.
 *
 * @param claimedIn how many of the usable addresses of a block are claimed
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

// Steps of about the golden section of the whole are spread evenly however many are made; a step that has no divisor
// in common with the whole comes to each block once.
function strideThrough(count: bigint): bigint {
    let stride = (count * 618n) / 1000n || 1n;
    while (divisor(stride, count) !== 1n) stride += 1n;
    return stride;
}

function divisor(a: bigint, b: bigint): bigint {
    return b === 0n ? a : divisor(b, a % b);
}
