import { type LifecyclePart } from "@antrea/runtime";

/** A part of the program that every replica starts and stops, whether or not it leads. */
export interface Part extends LifecyclePart {
    /** Why this replica is not ready, as text for /readyz; undefined when it is. Absent: always ready. */
    readonly problem?: () => string | undefined;
}

/**
 * A feature of the controller: the work of the leader, and what every replica keeps for it. `feature.ts` of its folder
 * exports one function that builds it from the platform and starts nothing, which compose.ts calls. Features do not
 * import each other.
 */
export interface Feature {
    readonly name: string;
    /**
     * Every replica watches, so that a new leader starts immediately. Started before any feature leads, in this
     * order.
     */
    readonly parts?: readonly Part[];
    /**
     * Why this replica is not ready, apart from its parts, as text for /readyz; undefined when it is. Absent: always
     * ready.
     */
    readonly problem?: () => string | undefined;
    /**
     * The leader's work for one term: runs until the signal aborts, and writes nothing after it resolved. One that
     * ends earlier, or rejects, ends the term of all features. State of an earlier term may be stale: each term
     * starts from scratch.
     */
    lead(term: AbortSignal): Promise<void>;
}
