import { type LifecyclePart } from "@antrea/runtime";

/** Something that runs on every replica, whether or not it leads. */
export interface Part extends LifecyclePart {
    /** Why this replica is not ready, for /readyz; undefined when it is. */
    readonly problem?: () => string | undefined;
}

/**
 * A feature of the controller: the work of the leader, and what every replica keeps for it. Its folder exports one function
 * that makes it of the platform, which compose.ts calls. Features do not import each other.
 */
export interface Feature {
    readonly name: string;
    /** Every replica watches, so that a new leader begins at once. Started before any feature leads, in this order. */
    readonly parts?: readonly Part[];
    /** Why this replica is not ready as far as it is not a matter of a part, for /readyz; undefined when it is. */
    readonly problem?: () => string | undefined;
    /**
     * The leader's work for one term: ends when the signal aborts, and writes nothing after it resolved. One that ends
     * before, or rejects, ends the term of all features. What an earlier term learned may be wrong by now: each starts anew.
     */
    lead(term: AbortSignal): Promise<void>;
}
