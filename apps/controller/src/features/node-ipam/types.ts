import { type Prefix } from "@antrea/ip";

export interface NodeIpamSettings {
    /** Where subnets come from, at most one prefix per family; their order is the order of a Node's podCIDRs. */
    readonly clusters: readonly { readonly prefix: Prefix; readonly nodeMaskSize: number }[];
    /** Never given to a Node. */
    readonly serviceCidrs: readonly Prefix[];
    /** How long a subnet rests after its Node is gone, in milliseconds. Default 10 min. */
    readonly coolingMs?: number;
}

/** A line of the ledger: which subnets a Node has, or had until it was gone. */
export interface LedgerEntry {
    readonly node: string;
    readonly cidrs: readonly Prefix[];
    /** `cidrs` as text, joined by commas. */
    readonly text: string;
    /** Wall time in milliseconds; undefined while the Node exists. */
    readonly goneAtMs?: number;
}

/** What must survive the process: every assignment, made before the Node is told of it. */
export interface Ledger {
    readonly entries: readonly LedgerEntry[];
    /** Where each family's search goes on. */
    readonly next: readonly Prefix[];
}

/** What is wrong with the podCIDRs that a Node has. */
export interface PodCidrProblems {
    /** Other Nodes with an overlapping podCIDR. */
    readonly duplicates: readonly string[];
    /** podCIDRs that are none of the configured subnets, as text. */
    readonly foreign: readonly string[];
    /** Configured families of which the Node has no podCIDR. */
    readonly missing: readonly (4 | 6)[];
}

export type Assignment =
    | { readonly kind: "assigned"; readonly cidrs: readonly Prefix[]; readonly recorded: boolean }
    | {
          readonly kind: "exhausted";
          /** The prefixes that have no free subnet. */
          readonly clusters: readonly Prefix[];
          /** When the next resting subnet is free, wall time in milliseconds; undefined if none rests. */
          readonly freeAtMs: number | undefined;
      };
