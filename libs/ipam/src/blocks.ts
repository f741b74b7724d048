import { familyBits, RangeSet, type IpRange, type Prefix } from "@antrea/ip";

const blockBits = 8n;

/** The aligned blocks (/24 for IPv4, /120 for IPv6) that contain addresses of a set, in address order. */
export interface BlockSet {
    /** Number of blocks. */
    readonly count: bigint;
    /** Returns the block at an index counted from 0. Throws IpError `OUT_OF_RANGE`. */
    at(index: bigint): Prefix;
    /** True if the prefix is one of the blocks; false for prefixes of another length. */
    has(prefix: Prefix): boolean;
}

/** Returns the blocks of a set of addresses. Its cost does not depend on the number of addresses or blocks. */
export function blocksOf(set: RangeSet): BlockSet {
    // A block's number is its base without the bits in which its addresses differ: adjacent blocks have adjacent
    // numbers.
    const numbers = RangeSet.of(set.ranges.map(blockNumbers));
    return {
        count: numbers.size,
        at: (index) => {
            const { family, value } = numbers.at(index);
            return { family, base: value << blockBits, length: familyBits(family) - Number(blockBits) };
        },
        has: ({ family, base, length }) =>
            length === familyBits(family) - Number(blockBits) && numbers.has({ family, value: base >> blockBits }),
    };
}

function blockNumbers({ family, first, last }: IpRange): IpRange {
    return { family, first: first >> blockBits, last: last >> blockBits };
}
