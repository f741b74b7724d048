import { callerError } from "../errors.ts";
import { type BucketPlace, type GroupBucket, type GroupMod } from "../group.ts";
import { Writer } from "../wire/writer.ts";
import { writeBucket } from "./bucket.ts";
import { writeGroupMod } from "./group-mod.ts";

type WithBuckets = Extract<GroupMod, { readonly group: { readonly buckets: unknown } }>;

/**
 * Splits a change of a group into messages of at most `maxBytes` bytes that have its effect when they are sent in this
 * order: the change with as many buckets as fit, then `insert_bucket` for those that follow. One that fits, or has no
 * buckets, stays as it is. Throws `OpenFlowError` `TOO_BIG` for a single bucket that does not fit, or as `writeGroupMod`
 * does.
 */
export function splitGroupMod(mod: GroupMod, maxBytes: number): readonly GroupMod[] {
    if (mod.command === "delete" || mod.command === "remove_bucket") return [mod];
    const writer = new Writer();
    writeGroupMod(writer, 0, withBuckets(mod, []));
    const [first, ...rest] = runs(mod, maxBytes - writer.length);
    if (first === undefined || rest.length === 0) return [mod];
    const { id, type } = mod.group;
    const parts: GroupMod[] = [withBuckets(mod, first)];
    let before = first;
    for (const buckets of rest) {
        parts.push({ command: "insert_bucket", group: { id, type, buckets }, place: placeAfter(mod, before) });
        before = buckets;
    }
    return parts;
}

function withBuckets(mod: WithBuckets, buckets: readonly GroupBucket[]): GroupMod {
    if (mod.command === "insert_bucket") return { ...mod, group: { ...mod.group, buckets } };
    return { ...mod, group: { ...mod.group, buckets } };
}

function placeAfter(mod: WithBuckets, before: readonly GroupBucket[]): BucketPlace {
    if (mod.command !== "insert_bucket" || mod.place === "last") return "last";
    return before.at(-1)?.id ?? mod.place;
}

/** The buckets in runs of at most `maxBytes` bytes. */
function runs({ group: { id, type, buckets } }: WithBuckets, maxBytes: number): readonly (readonly GroupBucket[])[] {
    const all: GroupBucket[][] = [];
    let run: GroupBucket[] = [];
    let free = 0;
    const writer = new Writer();
    for (const bucket of buckets) {
        writeBucket(writer, bucket, type);
        const bytes = writer.length;
        writer.truncate(0);
        if (bytes > maxBytes) {
            throw callerError(
                "TOO_BIG",
                `group ${id}: bucket ${bucket.id} has ${bytes} bytes, at most ${maxBytes} fit`,
            );
        }
        if (bytes > free) {
            run = [];
            all.push(run);
            free = maxBytes;
        }
        run.push(bucket);
        free -= bytes;
    }
    return all;
}
