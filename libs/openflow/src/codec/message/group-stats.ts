import { type Group, type GroupCounters } from "../group.ts";
import { type Reader } from "../wire/reader.ts";
import { readBuckets } from "./bucket.ts";
import { readGroupType } from "./group-mod.ts";
import { readSelection } from "./selection.ts";

/**
 * Reads `ofp_group_desc` (OpenFlow 1.5 section 7.3.5.11) from a list of them. Throws `OpenFlowError` `SHORT`, `LONG` or
 * `MALFORMED`.
 */
export function readGroup(list: Reader): Group {
    const length = list.u16();
    if (length < 16) list.fail(`group of length ${length}, at least 16`);
    const reader = list.sub(length - 2, "group");
    const type = readGroupType(reader);
    reader.skip(1);
    const id = reader.u32();
    const bucketBytes = reader.u16();
    reader.skip(6);
    const buckets = readBuckets(reader.sub(bucketBytes, "buckets"), type);
    const selection = readSelection(reader);
    return { id, type, buckets, ...(selection === undefined ? {} : { selection }) };
}

/**
 * Reads `ofp_group_stats` (OpenFlow 1.5 section 7.3.5.10) from a list of them. Throws `OpenFlowError` `SHORT` or
 * `MALFORMED`.
 */
export function readGroupCounters(list: Reader): GroupCounters {
    const length = list.u16();
    if (length < 40) list.fail(`group counters of length ${length}, at least 40`);
    const reader = list.sub(length - 2, "group counters");
    reader.skip(2);
    const id = reader.u32();
    const references = reader.u32();
    reader.skip(4);
    const [packets, bytes] = [reader.u64(), reader.u64()];
    const durationSeconds = reader.u32() + reader.u32() / 1e9;
    const buckets: GroupCounters["buckets"][number][] = [];
    while (reader.remaining > 0) buckets.push({ packets: reader.u64(), bytes: reader.u64() });
    return { id, references, packets, bytes, durationSeconds, buckets };
}
