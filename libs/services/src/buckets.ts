import { ipToBytes, type IpAddress } from "@antrea/ip";

/** Where a connection can go, as far as a bucket needs it. */
export interface BucketTarget {
    readonly ip: IpAddress;
    readonly port: number;
}

/**
 * The bucket of a select group that gets its slot beside the others, but no connection: a `watch_port` that does not
 * exist makes OVS take the next slot instead. Its weight of 1 keeps the number of slots up.
 */
export interface DeadBucket {
    /** Its place in the list of buckets: before the endpoint of this index. */
    readonly before: number;
    readonly weight: 1;
}

/**
 * How OVS chooses among the endpoints of a select group, named by its selection method.
 *
 * - `dp_hash`: the datapath chooses, by a table of slots that OVS fills in proportion to the weights.
 * - `hash`, over address and port of the client: ovs-vswitchd chooses, for each new connection, by rendezvous hashing over
 *   bucket ids, which is even for any number of buckets without weights.
 */
export type BucketSelection =
    | {
          readonly method: "dp_hash";
          /** In the order of the endpoints. */
          readonly weights: readonly number[];
          readonly dead: DeadBucket | undefined;
      }
    | { readonly method: "hash" };

/** Limits of OVS 3.1 for the method dp_hash (ofproto/ofproto-dpif.c). */
const minSlots = 16;
const maxSlots = 256;
const wantedSlotsEach = 8;
/** The busiest endpoint may have this multiple of the mean. */
const maxShare = 1.5;
/** The highest id of a bucket (OpenFlow 1.5, OFPG_BUCKET). */
const maxBucketId = 0xffffff00;

/** The id of the dead bucket of a group; `bucketIds` never returns it. */
export const deadBucketId = 0;

/**
 * Returns how OVS is to choose among `count` endpoints, 1 or more, so that the busiest has at most 1.25 times the mean up
 * to 64 endpoints and 1.5 times above.
 *
 * For `dp_hash` OVS gives a group the next power of two of (sum of weights / lowest weight) slots, 16 to 256, and divides
 * them by the method of Webster. With equal weights alone six of ten endpoints get two of 16 slots and four get one. So the
 * weights are the slots themselves: below 128 endpoints at least eight each, or all that there are, beside a dead bucket
 * of one slot. It stands before the endpoints with fewer slots, since then OVS places its slot before one of theirs. More
 * than 256 endpoints have no slot each, and 256 slots cannot be divided so evenly among 193 to 255: these need `hash`. It
 * names its fields, since without them OVS leaves out the ports of UDP, and a client has one endpoint for all connections.
 */
export function bucketSelection(count: number): BucketSelection {
    if (count < maxSlots / 2) {
        const slots = slotsFor(count);
        const { each, more } = divided(slots - 1, count);
        return { method: "dp_hash", weights: weightsOf(count, each, more), dead: { before: more, weight: 1 } };
    }
    const { each, more } = divided(maxSlots, count);
    const busiest = more === 0 ? each : each + 1;
    if (count > maxSlots || busiest * count > maxShare * maxSlots) return { method: "hash" };
    return { method: "dp_hash", weights: weightsOf(count, each, more), dead: undefined };
}

/** Returns the number of buckets of a group of `count` endpoints: with the dead one, if `bucketSelection` has it. */
export function bucketCount(count: number): number {
    const selection = bucketSelection(count);
    return selection.method === "dp_hash" && selection.dead !== undefined ? count + 1 : count;
}

/**
 * Returns the ids of buckets for these endpoints, in their order: 1 to 0xffffff00, each another. They depend on address
 * and port, so a restarted agent chooses as before and a change of one endpoint leaves the ids of others as they are;
 * only if two would get the same id does the second in the list get another. Sort the endpoints, or that one depends on
 * their order.
 */
export function bucketIds(endpoints: readonly BucketTarget[]): readonly number[] {
    const taken = new Set<number>();
    return endpoints.map((endpoint) => {
        let id = hashOf(endpoint, 0);
        for (let attempt = 1; taken.has(id); attempt += 1) id = hashOf(endpoint, attempt);
        taken.add(id);
        return id;
    });
}

function slotsFor(count: number): number {
    let slots = minSlots;
    while (slots <= wantedSlotsEach * count && slots < maxSlots) slots *= 2;
    return slots;
}

/** `slots` for `count` endpoints: the first `more` of them have one more than `each`. */
function divided(slots: number, count: number): { readonly each: number; readonly more: number } {
    return { each: Math.floor(slots / count), more: slots % count };
}

function weightsOf(count: number, each: number, more: number): readonly number[] {
    return Array.from({ length: count }, (_, at) => (at < more ? each + 1 : each));
}

// FNV-1a over address, port and attempt, then the finaliser of MurmurHash3, as OVS weighs ids by a hash of its own that
// expects them to differ in more than their last bits.
function hashOf({ ip, port }: BucketTarget, attempt: number): number {
    let hash = 0x811c9dc5;
    for (const byte of [...ipToBytes(ip), port >>> 8, port & 0xff, attempt >>> 8, attempt & 0xff]) {
        hash = Math.imul(hash ^ byte, 0x01000193);
    }
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    return (((hash ^ (hash >>> 16)) >>> 0) % maxBucketId) + 1;
}
