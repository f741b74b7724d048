/**
 * Puts objects of one kind into effect: the part of a reconciler that its user implements. The contract:
 *
 * - **Level-triggered.** An operation gets the desired state, not the events that led to it. A change that arrives
 *   while an operation works on an object causes another operation on it.
 * - **Idempotent.** Every operation may be repeated: after a failure, a crash, or a difference found by a full pass.
 * - **Deleting an object that does not exist is not an error.**
 * - **A rejection is a failure of this object only.** It is retried with a growing delay, logged once for each new
 *   message, and counted. A rejection caused by the signal is no failure: the object stays pending.
 * - **One operation at a time for a key**; those of different keys may run in parallel. None runs during `prune`.
 * - The operation logs what it did, in the terms of its feature.
 */
export interface Operations<K, V> {
    /**
     * Puts `change.value` in place of the object, replacing a previous value whether known or not. Here and below the
     * signal is that of `pass` or `apply`, if any.
     */
    update(change: Change<K, V>, signal: AbortSignal | undefined): Promise<void>;

    /** Removes the object, which is no longer desired. */
    delete(object: Removal<K, V>, signal: AbortSignal | undefined): Promise<void>;

    /**
     * Like `update` for all objects of one pass, where one large request is cheaper than many. If it rejects, each
     * object is updated alone, so that one invalid object does not block the others.
     */
    updateMany?(changes: readonly Change<K, V>[], signal: AbortSignal | undefined): Promise<void>;

    /** Like `delete` for all objects of one pass. If it rejects, each object is deleted alone. */
    deleteMany?(objects: readonly Removal<K, V>[], signal: AbortSignal | undefined): Promise<void>;

    /**
     * The comparison of a full pass: reads the actual objects, removes those that no desired object accounts for (left
     * by an earlier process, or created by others under its name), and returns the keys of desired objects that are
     * missing or differ. These are updated next; all others count as in place. Rejects if the actual objects cannot be
     * read or removed; the full pass then remains due. It may set and delete desired objects, e.g. compute all of them
     * again; the pass processes these next.
     *
     * @param desired all desired objects, including those whose update failed
     */
    prune?(desired: ReadonlyMap<K, V>, signal: AbortSignal | undefined): Promise<Iterable<K>>;
}

/** Input of an update: the desired value of an object, and the one in place. */
export interface Change<K, V> {
    readonly key: K;
    readonly value: V;
    /**
     * The value that the last successful update put in place; undefined if unknown, or if `prune` found a difference.
     */
    readonly before: V | undefined;
}

/** Input of a deletion: the object's key and its last value. */
export interface Removal<K, V> {
    readonly key: K;
    /** The last value that was put in place, if known, else the last desired one. */
    readonly last: V;
}
