import { type BugHooks } from "../simulated-cluster.ts";

/** A published defect, or what comes nearest to it here, as a change to what was built. */
export interface SeededBug {
    /** Where it was published. */
    readonly source: string;
    readonly what: string;
    readonly hooks: BugHooks;
}
