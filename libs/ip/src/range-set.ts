import { type IpAddress } from "./address.ts";
import { IpError } from "./error.ts";
import { type Prefix } from "./prefix.ts";
import { compareRanges, prefixRange, rangeContains, rangeOf, rangeSize, rangesOverlap, type IpRange } from "./range.ts";

/**
 * An immutable set of addresses of both families, made by `of` or `ofAddresses` and stored as sorted ranges that
 * neither overlap nor touch, so two sets are equal exactly if their ranges are. The cost of all operations but
 * iteration depends on the number of ranges, not of addresses.
 */
export class RangeSet {
    /** The set without addresses. */
    static readonly empty: RangeSet = new RangeSet([]);

    /** The ranges in ascending order, IPv4 first; they neither overlap nor touch. */
    readonly ranges: readonly IpRange[];
    /** Number of addresses in the set. */
    readonly size: bigint;
    // Number of addresses before each range; computed at the first use.
    #offsets: readonly bigint[] | undefined;

    private constructor(ranges: readonly IpRange[]) {
        this.ranges = ranges;
        this.size = ranges.reduce((size, range) => size + rangeSize(range), 0n);
    }

    /** Returns the set of all addresses in the ranges, which may overlap and be in any order. */
    static of(ranges: Iterable<IpRange>): RangeSet {
        const sorted = [...ranges].sort(compareRanges);
        const merged: IpRange[] = [];
        for (const range of sorted) {
            const before = merged.at(-1);
            if (before === undefined || before.family !== range.family || before.last + 1n < range.first) {
                merged.push(range);
            } else if (before.last < range.last) {
                merged[merged.length - 1] = { ...before, last: range.last };
            }
        }
        return merged.length === 0 ? RangeSet.empty : new RangeSet(merged);
    }

    /** Returns the set of these addresses, in any order. */
    static ofAddresses(ips: Iterable<IpAddress>): RangeSet {
        return RangeSet.of(Array.from(ips, (ip) => rangeOf(ip)));
    }

    /** True if the set has no addresses. */
    get isEmpty(): boolean {
        return this.ranges.length === 0;
    }

    /** True if the address is in the set. */
    has(ip: IpAddress): boolean {
        const range = this.ranges[this.#firstReaching({ family: ip.family, first: ip.value, last: ip.value })];
        return range !== undefined && rangeContains(range, ip);
    }

    /** Returns the lowest address, an IPv4 address if there is one; undefined for the empty set. */
    first(): IpAddress | undefined {
        const range = this.ranges[0];
        return range && { family: range.family, value: range.first };
    }

    /** Returns the address at an index counted from 0 in iteration order. Throws IpError `OUT_OF_RANGE`. */
    at(index: bigint): IpAddress {
        if (index < 0n || index >= this.size) {
            const message = `a set of ${this.size} addresses has none at index ${index}`;
            throw new IpError("OUT_OF_RANGE", "caller", message);
        }
        this.#offsets ??= offsetsOf(this.ranges);
        const offsets = this.#offsets;
        const at = lowest(offsets.length, (candidate) => offsets[candidate]! > index) - 1;
        const range = this.ranges[at]!;
        return { family: range.family, value: range.first + index - offsets[at]! };
    }

    /** Returns the addresses of this set that lie in the prefix. */
    within(prefix: Prefix): RangeSet {
        const parts = this.#overlapping(prefixRange(prefix));
        return parts.length === 0 ? RangeSet.empty : new RangeSet(parts);
    }

    /** Returns the addresses that are in either set. */
    union(other: RangeSet): RangeSet {
        if (this.isEmpty) return other;
        if (other.isEmpty) return this;
        return RangeSet.of([...this.ranges, ...other.ranges]);
    }

    /** Returns the addresses that are in both sets. */
    intersect(other: RangeSet): RangeSet {
        const [few, many] = this.ranges.length <= other.ranges.length ? [this, other] : [other, this];
        return RangeSet.of(few.ranges.flatMap((range) => many.#overlapping(range)));
    }

    /** Returns the addresses of this set that are not in the other. */
    subtract(other: RangeSet): RangeSet {
        if (this.isEmpty || other.isEmpty) return this;
        const kept: IpRange[] = [];
        for (const { family, first, last } of this.ranges) {
            let from = first;
            for (const hole of other.#overlapping({ family, first, last })) {
                if (from < hole.first) kept.push({ family, first: from, last: hole.first - 1n });
                from = hole.last + 1n;
            }
            if (from <= last) kept.push({ family, first: from, last });
        }
        return kept.length === 0 ? RangeSet.empty : new RangeSet(kept);
    }

    /** True if both sets contain the same addresses. */
    equals(other: RangeSet): boolean {
        return (
            this.ranges.length === other.ranges.length &&
            this.ranges.every((range, at) => compareRanges(range, other.ranges[at]!) === 0)
        );
    }

    /** Iterates over the single addresses in ascending order, IPv4 first. */
    *[Symbol.iterator](): IterableIterator<IpAddress> {
        for (const { family, first, last } of this.ranges) {
            for (let value = first; value <= last; value += 1n) yield { family, value };
        }
    }

    /** The parts of this set's ranges that lie within the range. */
    #overlapping(range: IpRange): IpRange[] {
        const parts: IpRange[] = [];
        for (let at = this.#firstReaching(range); at < this.ranges.length; at += 1) {
            const { family, first, last } = this.ranges[at]!;
            if (!rangesOverlap(this.ranges[at]!, range)) break;
            parts.push({
                family,
                first: first < range.first ? range.first : first,
                last: last > range.last ? range.last : last,
            });
        }
        return parts;
    }

    /** The index of the first range that ends at or after the first address of this one. */
    #firstReaching({ family, first }: IpRange): number {
        return lowest(this.ranges.length, (at) => {
            const range = this.ranges[at]!;
            return range.family === family ? range.last >= first : range.family > family;
        });
    }
}

function offsetsOf(ranges: readonly IpRange[]): readonly bigint[] {
    let before = 0n;
    return ranges.map((range) => {
        const offset = before;
        before += rangeSize(range);
        return offset;
    });
}

/** The lowest index below `length` for which a monotone test holds, or `length`. */
function lowest(length: number, test: (index: number) => boolean): number {
    let low = 0;
    let high = length;
    while (low < high) {
        const middle = (low + high) >>> 1;
        if (test(middle)) high = middle;
        else low = middle + 1;
    }
    return low;
}
