import { checkUint } from "../action/check.ts";
import { readActions } from "../action/decode.ts";
import { writeActions } from "../action/encode.ts";
import { callerError } from "../errors.ts";
import { type GroupBucket, type GroupType } from "../group.ts";
import { type Reader } from "../wire/reader.ts";
import { type Writer } from "../wire/writer.ts";

/** OpenFlow 1.5 section 7.3.4.3.1, OFPGBPT_*. */
const Property = { WEIGHT: 0, WATCH_PORT: 1, WATCH_GROUP: 2 } as const;
const bucketHeaderBytes = 8;

function defaultWeight(type: GroupType): number {
    return type === "select" ? 1 : 0;
}

/**
 * Writes `ofp_bucket`; one of `select` has its weight always. Throws `OpenFlowError` `BAD_FIELD`, `BAD_VALUE`, or
 * `TOO_BIG` above 65,535 bytes.
 */
export function writeBucket(writer: Writer, bucket: GroupBucket, type: GroupType): void {
    const start = writer.length;
    writer.zeros(4);
    writer.u32(checkUint(bucket.id, 32, "bucket.id"));
    writeActions(writer, bucket.actions);
    const actionBytes = writer.length - start - bucketHeaderBytes;
    const weight = checkUint(bucket.weight ?? defaultWeight(type), 16, "bucket.weight");
    if (type === "select" || weight !== 0) {
        writeProperty(writer, Property.WEIGHT, () => {
            writer.u16(weight);
            writer.zeros(2);
        });
    }
    writeNumber(writer, Property.WATCH_PORT, bucket.watchPort, "bucket.watchPort");
    writeNumber(writer, Property.WATCH_GROUP, bucket.watchGroup, "bucket.watchGroup");
    const length = writer.length - start;
    if (length > 0xffff)
        throw callerError("TOO_BIG", `bucket ${bucket.id} has ${length} bytes, at most 65535 fit into a message`);
    writer.patchU16(start, length);
    writer.patchU16(start + 2, actionBytes);
}

function writeNumber(writer: Writer, type: number, value: number | undefined, name: string): void {
    if (value !== undefined) writeProperty(writer, type, () => writer.u32(checkUint(value, 32, name)));
}

function writeProperty(writer: Writer, type: number, write: () => void): void {
    writer.u16(type);
    writer.u16(8);
    write();
}

/**
 * Reads buckets up to the end of the reader. Throws `OpenFlowError` `SHORT`, `LONG` or `MALFORMED`, the latter also for
 * a property that this codec does not know.
 */
export function readBuckets(reader: Reader, type: GroupType): GroupBucket[] {
    const buckets: GroupBucket[] = [];
    while (reader.remaining > 0) buckets.push(readBucket(reader, type));
    return buckets;
}

function readBucket(list: Reader, type: GroupType): GroupBucket {
    const length = list.u16();
    if (length < bucketHeaderBytes) list.fail(`bucket of length ${length}, at least ${bucketHeaderBytes}`);
    const reader = list.sub(length - 2, "bucket");
    const actionBytes = reader.u16();
    const id = reader.u32();
    const actions = readActions(reader.sub(actionBytes, "bucket actions"));
    const { weight = defaultWeight(type), ...watched } = readProperties(reader);
    return { id, actions, ...(weight === defaultWeight(type) ? {} : { weight }), ...watched };
}

function readProperties(reader: Reader): { weight?: number; watchPort?: number; watchGroup?: number } {
    const out: { weight?: number; watchPort?: number; watchGroup?: number } = {};
    while (reader.remaining > 0) {
        const type = reader.u16();
        const length = reader.u16();
        if (length !== 8) reader.fail(`bucket: property ${type} of length ${length}, must be 8`);
        if (type === Property.WEIGHT) {
            out.weight = reader.u16();
            reader.skip(2);
        } else if (type === Property.WATCH_PORT) out.watchPort = reader.u32();
        else if (type === Property.WATCH_GROUP) out.watchGroup = reader.u32();
        else reader.fail(`bucket: unknown property ${type}`);
    }
    return out;
}
