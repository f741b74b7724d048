import { type RangeSet } from "./range-set.ts";
import { formatRange } from "./range.ts";

const shownRanges = 4;

/**
 * Formats a set for messages: its ranges separated by ", ", after the first four only the number of the others. The
 * empty set is "".
 */
export function formatRangeSet(set: RangeSet): string {
    const shown = set.ranges.slice(0, shownRanges).map(formatRange);
    const more = set.ranges.length - shown.length;
    return more > 0 ? `${shown.join(", ")} and ${more} more ranges` : shown.join(", ");
}
