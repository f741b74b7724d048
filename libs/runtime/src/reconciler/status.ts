/**
 * State of an object. `pending`: not tried since it was set, deleted or found to differ. `done`: in place. `error`: the
 * last operation failed and is retried.
 */
export type ObjectState = "pending" | "done" | "error";

/** Status of one object of a reconciler: state, last failure and since when. */
export interface ObjectStatus {
    readonly state: ObjectState;
    /** Messages of the last failure and its causes; undefined unless the state is `error`. */
    readonly message: string | undefined;
    /** Wall time in milliseconds since 1970 at which the object entered this state with this message. */
    readonly sinceMs: number;
    /** Number of failed operations since the object changed or was in place. */
    readonly failures: number;
}
