import { familyBits, RangeSet, type IpRange, type Prefix } from "@antrea/ip";

const blockBits = 8n;

/** The aligned blocks (/24 of IPv4, /120 of IPv6) that hold addresses of a set, in the order of their addresses. */
export interface BlockSet {
    readonly count: bigint;
    /** The block at an index counted from 0; `OUT_OF_RANGE` (IpError) when there is none. */
    at(index: bigint): Prefix;
    /** Whether the prefix is one of the blocks; false for prefixes of another length. */
    has(prefix: Prefix): boolean;
}

/** The blocks of a set of addresses. Takes no time or memory by the number of addresses or blocks. */
export function blocksOf(set: RangeSet): BlockSet {
    // A block is its base without the bits that all its addresses differ in: consecutive blocks are consecutive numbers.
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
