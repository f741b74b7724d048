import { compareRanges, formatRange, formatRangeSet, quote, RangeSet, type IpRange } from "@antrea/ip";
import { type Pool, type PoolSubnet } from "../pool.ts";
import { type Refusal } from "../refusal.ts";
import { type PoolContext } from "./pool-context.ts";

/**
 * The ranges of a pool that overlap others of it, with the addresses that both have. Each range is compared with the
 * preceding one that reaches furthest, so that many equal ranges cost no more.
 */
export function overlapsWithin(ranges: readonly PoolSubnet[]): readonly Refusal[] {
    const refusals: Refusal[] = [];
    const order = new Map(ranges.map((range, at) => [range, at]));
    const place = (range: PoolSubnet): number => order.get(range) ?? 0;
    let furthest: PoolSubnet | undefined;
    for (const range of [...ranges].sort((a, b) => compareRanges(a.range, b.range))) {
        if (furthest !== undefined && range.range.first <= furthest.range.last) {
            const [early, late] = place(furthest) < place(range) ? [furthest, range] : [range, furthest];
            const common = formatRangeSet(commonOf(early.range, [late.range]));
            const rule = `overlaps ${early.path} (${formatRange(early.range)}): both have ${common}`;
            refusals.push({ path: late.path, value: formatRange(late.range), rule });
        }
        if (furthest === undefined || furthest.range.last < range.range.last) furthest = range;
    }
    return refusals;
}

/** The ranges of a pool that overlap stored pools, with the addresses that both have. */
export function overlapsWithOthers(pool: Pool, context: PoolContext): readonly Refusal[] {
    return pool.subnets.flatMap(({ path, range }) => {
        const others = new Map<string, IpRange[]>();
        for (const other of context.overlapping(range)) {
            if (other.key === pool.name) continue;
            others.set(other.key, [...(others.get(other.key) ?? []), other.range]);
        }
        return [...others].map(([name, theirs]) => {
            const rule = `overlaps IPPool ${quote(name)}: both have ${formatRangeSet(commonOf(range, theirs))}`;
            return { path, value: formatRange(range), rule };
        });
    });
}

function commonOf(range: IpRange, others: readonly IpRange[]): RangeSet {
    return RangeSet.of([range]).intersect(RangeSet.of(others));
}
