/** `pending`: not tried since it changed. `done`: in place. `error`: the last try failed; it is retried. */
export type ObjectState = "pending" | "done" | "error";

/** How far one object is. */
export interface ObjectStatus {
    readonly state: ObjectState;
    /** Why the last try failed, with causes; undefined unless the state is `error`. */
    readonly message: string | undefined;
    /** Wall time in milliseconds since 1970 at which the object got into this state with this message. */
    readonly sinceMs: number;
    /** Tries that failed since the object changed or was in place. */
    readonly failures: number;
}
