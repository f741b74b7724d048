import { type Prefix } from "@antrea/ip";

/** The prefixes for Nodes, the exclusions and the cooling time, as configured. */
export interface NodeIpamSettings {
    /**
     * Where subnets come from, at most one prefix per family, with the prefix length of a Node's subnet in bits; their
     * order is the order of a Node's podCIDRs.
     */
    readonly clusters: readonly { readonly prefix: Prefix; readonly nodeMaskSize: number }[];
    /** Never assigned to a Node. */
    readonly serviceCidrs: readonly Prefix[];
    /** Cooling time of a subnet after its Node was deleted, in milliseconds. Default 10 min. */
    readonly coolingMs?: number;
}

/** A line of the ledger: the subnets that the Node of this name has, or had until it was deleted. */
export interface LedgerEntry {
    readonly node: string;
    readonly cidrs: readonly Prefix[];
    /** `cidrs` as text, joined by commas. */
    readonly text: string;
    /** When the Node was deleted, wall time in milliseconds; undefined while it exists. */
    readonly goneAtMs?: number;
}

/**
 * The persistent state of CidrAllocator: every assignment, recorded before it is written to the Node. LedgerStore keeps
 * it in a ConfigMap.
 */
export interface Ledger {
    readonly entries: readonly LedgerEntry[];
    /** The subnets at which the search of each family continues. */
    readonly next: readonly Prefix[];
}

/** The problems of a Node's podCIDRs; all empty if there is none. */
export interface PodCidrProblems {
    /** Names of other Nodes with an overlapping podCIDR, sorted. */
    readonly duplicates: readonly string[];
    /** podCIDRs that are not among the configured subnets, as text. */
    readonly foreign: readonly string[];
    /** Configured families for which the Node has no podCIDR. */
    readonly missing: readonly (4 | 6)[];
}

/**
 * The result of `CidrAllocator.assign`: the subnets, one per family (`recorded`: the ledger has them, so they may be
 * written to the Node), or why there are none.
 */
export type Assignment =
    | { readonly kind: "assigned"; readonly cidrs: readonly Prefix[]; readonly recorded: boolean }
    | {
          readonly kind: "exhausted";
          /** The prefixes without a free subnet. */
          readonly clusters: readonly Prefix[];
          /** When the next cooling subnet becomes free, wall time in milliseconds; undefined if none is cooling. */
          readonly freeAtMs: number | undefined;
      };
