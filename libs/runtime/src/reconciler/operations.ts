/**
 * How objects of one kind come into effect: the half of a reconciler that its user writes. The contract:
 *
 * - **Level, not edge.** An operation gets what is desired now, and not which events led to it. Changes that come while
 *   it works on an object make it work on that object once more.
 * - **Idempotent.** Every operation may be repeated: after a failure, after a crash, after a full pass found a difference.
 * - **Deleting what is not there is no error.**
 * - **A rejection is a failure of this object** and of no other. It is retried after a growing delay, logged once for each
 *   new message, and counted. An abort by the signal is none: the object stays pending.
 * - **One operation at a time for a key**; those of different keys may run at the same time. None runs during `prune`.
 * - Logging what was done, with the words of the feature, is up to the operation.
 */
export interface Operations<K, V> {
    /**
     * Makes `change.value` what is in place of the object. A previous value is replaced, whether known or not.
     */
    update(change: Change<K, V>, signal: AbortSignal | undefined): Promise<void>;

    /** Removes the object, which was desired and is not any more. */
    delete(object: Removal<K, V>, signal: AbortSignal | undefined): Promise<void>;

    /**
     * The same as `update` for all objects of one pass, where one big request is cheaper than many. All or nothing: when it
     * rejects, each object is updated by itself, so that one that is refused keeps no other from its place.
     */
    updateMany?(changes: readonly Change<K, V>[], signal: AbortSignal | undefined): Promise<void>;

    /** The same as `delete` for all objects of one pass; when it rejects, each is deleted by itself. */
    deleteMany?(objects: readonly Removal<K, V>[], signal: AbortSignal | undefined): Promise<void>;

    /**
     * The comparison of a full pass: reads what is in place, removes what no desired object accounts for (left by an earlier
     * start, or made by others in its name), and returns the keys of desired objects that are missing or differ. These are
     * updated next; all others are in place. Rejects when what is in place cannot be read or removed; the full pass is then
     * still due.
     *
     * @param desired all desired objects, those whose update failed included
     */
    prune?(desired: ReadonlyMap<K, V>, signal: AbortSignal | undefined): Promise<Iterable<K>>;
}

export interface Change<K, V> {
    readonly key: K;
    readonly value: V;
    /** What the last update that succeeded put in place; undefined when that is unknown, or `prune` found a difference. */
    readonly before: V | undefined;
}

export interface Removal<K, V> {
    readonly key: K;
    /** What is in place as far as known: the last value that was put in place, else the last one that was desired. */
    readonly last: V;
}
