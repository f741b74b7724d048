import { bucketKey, groupBodyKey, type Group, type GroupBucket, type GroupMod } from "@antrea/openflow";

/** OVS copies the group for each change of buckets; above this many it gets all buckets once. */
const maxBucketChanges = 16;

/** The change that gives OVS a group with all its buckets, whether it has one of this id or not. */
export function wholeGroup(group: Group): GroupMod {
    return { command: "add_or_modify", group };
}

/**
 * The changes from one state of a group to another of the same id: none if they are equal, those of single buckets if
 * they are at most 16 and fewer than the buckets, else the whole group. Changes of buckets are refused if OVS has other
 * buckets than `before`. Pure function.
 */
export function groupDifference(before: Group, after: Group): readonly GroupMod[] {
    const withoutBuckets = (group: Group): string => groupBodyKey({ ...group, buckets: [] });
    if (withoutBuckets(before) !== withoutBuckets(after)) return [wholeGroup(after)];
    const [present, wanted] = [before, after].map(({ buckets, type }) => buckets.map((one) => bucketKey(one, type)));
    return bucketChanges({ ...before, keys: present ?? [] }, { ...after, keys: wanted ?? [] }) ?? [wholeGroup(after)];
}

/** A group with the keys of its buckets, which include their ids. */
interface KeyedGroup extends Group {
    readonly keys: readonly string[];
}

function bucketChanges(before: KeyedGroup, after: KeyedGroup): readonly GroupMod[] | undefined {
    const { id, type } = after;
    const [present, wanted] = [new Set(before.keys), new Set(after.keys)];
    const removed = before.buckets.filter((_, at) => !wanted.has(before.keys[at] ?? ""));
    const kept = new Set(after.buckets.filter((_, at) => present.has(after.keys[at] ?? "")).map((bucket) => bucket.id));
    const inserted = runsOf(after.buckets, kept);
    const count = removed.length + inserted.length;
    if (!isSameOrder(before, after, kept)) return undefined;
    if (count > maxBucketChanges || (count > 0 && count >= after.buckets.length)) return undefined;
    return [
        ...removed.map(({ id: bucket }): GroupMod => ({ command: "remove_bucket", group: { id }, bucket })),
        ...inserted.map(({ place, buckets }): GroupMod => ({
            command: "insert_bucket",
            group: { id, type, buckets },
            place,
        })),
    ];
}

/** The buckets that are not kept, in runs, each with the bucket that it follows. */
function runsOf(
    buckets: readonly GroupBucket[],
    kept: ReadonlySet<number>,
): readonly { readonly place: number | "first"; readonly buckets: readonly GroupBucket[] }[] {
    const runs: { readonly place: number | "first"; readonly buckets: GroupBucket[] }[] = [];
    let place: number | "first" = "first";
    let open: GroupBucket[] | undefined;
    for (const bucket of buckets) {
        if (kept.has(bucket.id)) open = undefined;
        else if (open !== undefined) open.push(bucket);
        else runs.push({ place, buckets: (open = [bucket]) });
        place = bucket.id;
    }
    return runs;
}

function isSameOrder(before: Group, after: Group, kept: ReadonlySet<number>): boolean {
    const order = ({ buckets }: Group): readonly number[] => buckets.map(({ id }) => id).filter((id) => kept.has(id));
    const [first, second] = [order(before), order(after)];
    return first.every((id, at) => id === second[at]);
}
