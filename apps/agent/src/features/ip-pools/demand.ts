import { type IpAddress } from "@antrea/ip";
import { type KnownPool } from "./pool-cache.ts";

/**
 * The demand for one address of an interface. Two demands of an interface have no pool in common, unless both are
 * fixed.
 */
export interface Demand {
    /** At least one, all of one family, in the order in which they are tried. */
    readonly pools: readonly KnownPool[];
    /** Undefined takes any free address. */
    readonly fixed: IpAddress | undefined;
}
