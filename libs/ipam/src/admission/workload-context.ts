import { type Exclusions } from "../exclusions.ts";
import { type Pool } from "../pool.ts";

/** Cluster state that the rules for Pods and templates need. */
export interface WorkloadContext {
    /** Returns the IPPool of this name, if it exists. */
    pool(name: string): Pool | undefined;
    /** Returns the names of all IPPools, to suggest one for an unknown name. Default: none. */
    poolNames?(): Iterable<string>;
    /** Addresses that the cluster excludes from pools. */
    readonly exclusions: Pick<Exclusions, "reason">;
}

/** Location of annotations for messages, and the treatment of unknown pools there. */
export interface Place {
    /** Path for messages, such as `metadata.annotations`. */
    readonly path: string;
    /** Whether an unknown pool in the object's own list is rejected. */
    readonly unknownPool: "refuse" | "warn";
}
