import { type IpAddress, type IpRange } from "@antrea/ip";
import { type Exclusions } from "../exclusions.ts";
import { type Pool } from "../pool.ts";
import { type AddedRangesContext } from "./added-ranges.ts";

/** Cluster state that the rules for IPPools need. */
export interface PoolContext extends AddedRangesContext {
    /**
     * Returns the ranges of stored pools that overlap a range, with the pool's name as key, such as a RangeIndex of all
     * pools does. Those of the pool itself are skipped.
     */
    overlapping(range: IpRange): readonly { readonly key: string; readonly range: IpRange }[];
    /** Returns the stored pool of this name. */
    pool(name: string): Pick<Pool, "subnetOf"> | undefined;
    /** Addresses that the cluster excludes from pools. */
    readonly exclusions: Pick<Exclusions, "nodeAddressesIn" | "podCidrs" | "serviceCidrs">;
    /** Addresses of the Nodes in bridging mode. Default: none. */
    readonly bridgedNodes?: readonly IpAddress[];
}
