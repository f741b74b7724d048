import { type Prefix } from "@antrea/ip";

/** The prefixes for Nodes and the exclusions. */
export interface NodeIpamSettings {
    /** Where subnets come from, at most one prefix per family; their order is the order of a Node's podCIDRs. */
    readonly clusters: readonly { readonly prefix: Prefix; readonly nodeMaskSize: number }[];
    /** Never assigned to a Node. */
    readonly serviceCidrs: readonly Prefix[];
    /** Cooling time of a subnet after its Node was deleted, in milliseconds. Default 10 min. */
    readonly coolingMs?: number;
}

/** A line of the ledger: the subnets that a Node has, or had until it was deleted. */
export interface LedgerEntry {
    readonly node: string;
    readonly cidrs: readonly Prefix[];
    /** `cidrs` as text, joined by commas. */
    readonly text: string;
    /** Wall time in milliseconds; undefined while the Node exists. */
    readonly goneAtMs?: number;
}

/** The persistent state: every assignment, recorded before it is written to the Node. */
export interface Ledger {
    readonly entries: readonly LedgerEntry[];
    /** Where the search of each family continues. */
    readonly next: readonly Prefix[];
}

/** The problems of a Node's podCIDRs. */
export interface PodCidrProblems {
    /** Other Nodes with an overlapping podCIDR. */
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
