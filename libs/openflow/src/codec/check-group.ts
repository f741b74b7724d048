import { checkUnmatchedActions } from "./check-flow.ts";
import { callerError, type OpenFlowError } from "./errors.ts";
import { anyGroup, Port } from "./port.ts";
import { maxGroupId, type GroupBucket, type GroupMod, type GroupType } from "./group.ts";

/** Ports from here on are reserved, or do not exist in Open vSwitch. */
const firstReservedPort = 0xff00;
const lastReservedPorts = 0xffffff00;

/**
 * Rejects a change of a group that Open vSwitch would reject when it reads the message: buckets that do not fit the type
 * of the group, ids out of range or given twice, actions that no bucket may have. Throws `OpenFlowError` `BAD_FIELD` or
 * `BAD_VALUE`. It matters for bundles, as with `checkFlow`.
 */
export function checkGroupMod(mod: GroupMod): void {
    const { id } = mod.group;
    const at = mod.command === "insert_bucket" ? mod.place : mod.command === "remove_bucket" ? mod.bucket : "all";
    if (typeof at === "number") checkBucketId(id, at);
    if (!("buckets" in mod.group)) return;
    const { type, buckets } = mod.group;
    if (type === "indirect" && buckets.length !== 1) {
        throw bad(id, `it has ${buckets.length} buckets, a group of type indirect has exactly one`);
    }
    const ids = new Set<number>();
    for (const bucket of buckets) {
        if (ids.has(bucket.id)) throw bad(id, `bucket ${bucket.id} is given twice`);
        ids.add(bucket.id);
        checkBucket(id, type, bucket);
        // Of buckets to insert the switch does not check it.
        if (type !== "select" && mod.command !== "insert_bucket" && (bucket.weight ?? 0) !== 0) {
            throw bad(id, `bucket ${bucket.id} has a weight, which only groups of type select have`);
        }
    }
    if (type !== "select" && "selection" in mod.group && mod.group.selection !== undefined) {
        throw bad(id, `a group of type ${type} selects nothing, so it takes no selection`);
    }
}

function checkBucket(group: number | "all", type: GroupType, bucket: GroupBucket): void {
    const { id, watchPort, watchGroup } = bucket;
    checkBucketId(group, id);
    const watches = (watchPort ?? Port.ANY) !== Port.ANY || (watchGroup ?? anyGroup) !== anyGroup;
    if (type === "fast_failover" && !watches) throw bad(group, `bucket ${id} needs watchPort or watchGroup`);
    if (watches && (type === "all" || type === "indirect")) {
        throw bad(group, `bucket ${id} watches a port or group, which a group of type ${type} cannot`);
    }
    if (watchPort !== undefined && watchPort >= firstReservedPort && watchPort < lastReservedPorts) {
        throw bad(group, `bucket ${id}: port ${watchPort} cannot exist, at most ${firstReservedPort - 1}`);
    }
    checkUnmatchedActions(bucket.actions);
}

function checkBucketId(group: number | "all", id: number): void {
    if (id > maxGroupId) throw bad(group, `ids of buckets are 0 to ${maxGroupId}, got ${id}`);
}

function bad(group: number | "all", rule: string): OpenFlowError {
    return callerError("BAD_VALUE", `group ${group}: ${rule}`);
}
