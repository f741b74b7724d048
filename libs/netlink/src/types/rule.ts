import { type Family } from "@antrea/ip";

/**
 * A routing rule (ip-rule(8)): struct fib_rule_hdr and FRA_*, as far as this library writes it. Rules of others may have
 * more selectors, which are not read.
 */
export interface Rule {
    readonly family: Family;
    /** FRA_PRIORITY: rules are tried in ascending order; 0 is the first, which leads to the table `local`. */
    readonly priority: number;
    /** The routing table; 0 for a rule with another action. */
    readonly table: number;
    /** The packet's mark under `mask`; both 0 if the mark does not count. */
    readonly mark: number;
    readonly mask: number;
    /** RouteProtocol value: the origin of the rule. */
    readonly protocol: number;
}
