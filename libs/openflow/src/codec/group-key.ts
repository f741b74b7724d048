import { textOf } from "./flow-key.ts";
import { type Group, type GroupBucket, type GroupType } from "./group.ts";
import { writeBucket } from "./message/bucket.ts";
import { writeSelection } from "./message/selection.ts";
import { Writer } from "./wire/writer.ts";

/**
 * What a group does, in canonical form and without its id: type, selection and buckets in their order. Two groups of one
 * id need no update exactly when these texts are equal. The text is for comparison only. Throws `OpenFlowError`
 * `BAD_FIELD`, `BAD_VALUE` or `TOO_BIG` for buckets that cannot be written.
 */
export function groupBodyKey({ type, buckets, selection }: Pick<Group, "type" | "buckets" | "selection">): string {
    const writer = new Writer();
    if (selection !== undefined) writeSelection(writer, selection);
    const selectionBytes = writer.length;
    for (const bucket of buckets) writeBucket(writer, bucket, type);
    return `${type},${selectionBytes},${textOf(writer.finish())}`;
}

/** A bucket of a group of this type, with its id, in canonical form, for comparison only. Throws as `groupBodyKey`. */
export function bucketKey(bucket: GroupBucket, type: GroupType): string {
    const writer = new Writer();
    writeBucket(writer, bucket, type);
    return textOf(writer.finish());
}
