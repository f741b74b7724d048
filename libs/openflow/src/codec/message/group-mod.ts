import { checkUint } from "../action/check.ts";
import { type Group, type GroupMod, type GroupType, maxGroupId } from "../group.ts";
import { allGroups } from "../port.ts";
import { beginMessage, endLongMessage, MessageType } from "../wire/header.ts";
import { type Reader } from "../wire/reader.ts";
import { type Writer } from "../wire/writer.ts";
import { readBuckets, writeBucket } from "./bucket.ts";
import { readSelection, writeSelection } from "./selection.ts";

/** OpenFlow 1.5 section 7.3.4.3, OFPGC_*; ADD_OR_MODIFY is Open vSwitch's. */
const Command = { ADD: 0, MODIFY: 1, DELETE: 2, INSERT_BUCKET: 3, REMOVE_BUCKET: 5, ADD_OR_MODIFY: 0x8000 } as const;
/** Types in their order on the wire: OFPGT_*. */
const types: readonly GroupType[] = ["all", "select", "indirect", "fast_failover"];
/** Special ids of buckets: OFPG_BUCKET_*. */
const places = { first: 0xfffffffd, last: 0xfffffffe, all: 0xffffffff } as const;

const commands = {
    add: Command.ADD,
    modify: Command.MODIFY,
    add_or_modify: Command.ADD_OR_MODIFY,
    delete: Command.DELETE,
    insert_bucket: Command.INSERT_BUCKET,
    remove_bucket: Command.REMOVE_BUCKET,
} as const satisfies Record<GroupMod["command"], number>;

/**
 * Writes `ofp_group_mod` with its header: OpenFlow 1.5 section 7.3.4.3. Throws `OpenFlowError`: `BAD_FIELD` or
 * `BAD_VALUE` for a group that cannot be written, `TOO_BIG` above 65,535 bytes (`splitGroupMod`). The rules of
 * `checkGroupMod` are not checked.
 */
export function writeGroupMod(writer: Writer, xid: number, mod: GroupMod): void {
    const start = beginMessage(writer, MessageType.GROUP_MOD, xid);
    const group: Partial<Group> = mod.command === "delete" ? {} : mod.group;
    const type = group.type ?? "all";
    writer.u16(commands[mod.command]);
    writer.u8(types.indexOf(type));
    writer.zeros(1);
    writer.u32(mod.group.id === "all" ? allGroups : checkUint(mod.group.id, 32, "group.id"));
    const lengthAt = writer.length;
    writer.zeros(4);
    writer.u32(commandBucket(mod));
    const bucketsAt = writer.length;
    for (const bucket of group.buckets ?? []) writeBucket(writer, bucket, type);
    // Truncated when the message is too big, which is checked at its end.
    writer.patchU16(lengthAt, writer.length - bucketsAt);
    if (group.selection !== undefined) writeSelection(writer, group.selection);
    endLongMessage(writer, start, `group ${mod.group.id}`);
}

function commandBucket(mod: GroupMod): number {
    if (mod.command === "insert_bucket") return bucketNumber(mod.place);
    return mod.command === "remove_bucket" ? bucketNumber(mod.bucket) : places.all;
}

function bucketNumber(place: number | keyof typeof places): number {
    return typeof place === "number" ? checkUint(place, 32, "group mod bucket") : places[place];
}

/** Reads the body of a group mod. Throws `OpenFlowError` `SHORT`, `LONG` or `MALFORMED`. */
export function readGroupMod(reader: Reader): GroupMod {
    const command = reader.u16();
    const type = readGroupType(reader);
    reader.skip(1);
    const id = reader.u32();
    const bucketBytes = reader.u16();
    reader.skip(2);
    const bucket = reader.u32();
    const buckets = readBuckets(reader.sub(bucketBytes, "buckets"), type);
    const selection = readSelection(reader);
    const group = { id, type, buckets, ...(selection === undefined ? {} : { selection }) };
    switch (command) {
        case Command.ADD:
            return { command: "add", group };
        case Command.MODIFY:
            return { command: "modify", group };
        case Command.ADD_OR_MODIFY:
            return { command: "add_or_modify", group };
        case Command.DELETE:
            return { command: "delete", group: { id: id === allGroups ? "all" : id } };
        case Command.INSERT_BUCKET: {
            const place = readPlace(reader, bucket);
            if (place === "all") return reader.fail("group mod: buckets inserted at all of them");
            return { command: "insert_bucket", group: { id, type, buckets }, place };
        }
        case Command.REMOVE_BUCKET:
            return { command: "remove_bucket", group: { id }, bucket: readPlace(reader, bucket) };
        default:
            return reader.fail(`group mod: unknown command ${command}`);
    }
}

function readPlace(reader: Reader, bucket: number): number | keyof typeof places {
    if (bucket <= maxGroupId) return bucket;
    if (bucket === places.first) return "first";
    if (bucket === places.last) return "last";
    return bucket === places.all ? "all" : reader.fail(`group mod: bucket 0x${bucket.toString(16)} is none`);
}

/** Reads the byte that has the type of a group. Throws `OpenFlowError` `SHORT` or `MALFORMED`. */
export function readGroupType(reader: Reader): GroupType {
    const type = reader.u8();
    return types[type] ?? reader.fail(`group of unknown type ${type}`);
}
