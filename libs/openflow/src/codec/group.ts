import { type Action } from "./action.ts";
import { type FieldName } from "./fields.ts";

/**
 * How a group uses its buckets (OpenFlow 1.5 section 5.10.1): `all` of them, the one that `select` chooses for the
 * packet, the only one, or the first that is live.
 */
export type GroupType = "all" | "select" | "indirect" | "fast_failover";

/** One list of actions of a group: OpenFlow 1.5 section 7.3.4.3.1. */
export interface GroupBucket {
    /** 0 to 0xffffff00, unique in the group. */
    readonly id: number;
    readonly actions: readonly Action[];
    /** Only in `select`: the share of the packets, 0 to 65535, relative to the other buckets. Default 1. */
    readonly weight?: number;
    /**
     * The bucket is live while this port exists and is up, or this group has a live bucket; at least one of them in
     * `fast_failover`, none in `all` and `indirect`. Default: always live.
     */
    readonly watchPort?: number;
    readonly watchGroup?: number;
}

/** A field that `hash` reads, and the bits of it. Default all bits; the mask is not 0. */
export interface SelectionField {
    readonly field: FieldName;
    readonly mask?: number | bigint;
}

/**
 * How Open vSwitch chooses a bucket: ovs-ofctl(8), "selection_method". `dp_hash` uses a hash of the connection that the
 * datapath computes, so the choice takes no call of ovs-vswitchd. `hash` reads `fields`, which the cached flows then
 * match exactly.
 */
export type GroupSelection =
    | {
          readonly method: "dp_hash";
          /** 64 bits: algorithm in the upper 32 (0: addresses and ports, 1: the same, symmetric), salt in the lower. */
          readonly param?: bigint;
      }
    | {
          readonly method: "hash";
          /** 64 bits, the salt of the hash. Default 0. */
          readonly param?: bigint;
          /** Default: addresses and ports of all layers, without the ports of UDP. */
          readonly fields?: readonly SelectionField[];
      };

/** A group of actions that flows use by its id: OpenFlow 1.5 section 5.10. */
export interface Group {
    /** 0 to 0xffffff00. */
    readonly id: number;
    readonly type: GroupType;
    /** Their order matters in `fast_failover` only. */
    readonly buckets: readonly GroupBucket[];
    /** Only in `select`. Default: `dp_hash`, symmetric, with at most 256 slots, else `hash` without fields. */
    readonly selection?: GroupSelection;
}

/** The place of new buckets: at either end, or after the bucket with this id. */
export type BucketPlace = number | "first" | "last";

/**
 * A change of a group: OpenFlow 1.5 section 7.3.4.3.
 *
 * - `add` is refused if the id is in use, `modify` if it is not; both take all buckets. `add_or_modify` is Open vSwitch's.
 * - `delete` also deletes the flows that use the group; for one that does not exist it changes nothing.
 * - `insert_bucket` needs the type of the group, and ids that are not in use in it.
 * - `remove_bucket` is refused for a bucket or group that does not exist.
 */
export type GroupMod =
    | { readonly command: "add" | "modify" | "add_or_modify"; readonly group: Group }
    /** `all` deletes every group. */
    | { readonly command: "delete"; readonly group: { readonly id: number | "all" } }
    | {
          readonly command: "insert_bucket";
          readonly group: Pick<Group, "id" | "type" | "buckets">;
          readonly place: BucketPlace;
      }
    | {
          readonly command: "remove_bucket";
          readonly group: Pick<Group, "id">;
          /** The id of the bucket, or which ones. */
          readonly bucket: BucketPlace | "all";
      };

/** Counters of a group and, in the order of its buckets, of each of them: OpenFlow 1.5 section 7.3.5.10. */
export interface GroupCounters {
    readonly id: number;
    /** Flows and groups that use it; Open vSwitch 3.1 reports 0. */
    readonly references: number;
    readonly packets: bigint;
    readonly bytes: bigint;
    /** Since the group was added, with fractions. */
    readonly durationSeconds: number;
    readonly buckets: readonly { readonly packets: bigint; readonly bytes: bigint }[];
}

/** The largest id of a group (OFPG_MAX) and of a bucket (OFPG_BUCKET_MAX). */
export const maxGroupId = 0xffffff00;
