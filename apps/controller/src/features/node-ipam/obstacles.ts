import { formatIp } from "@antrea/ip";
import { describeHolder, type Allocation } from "../../platform/allocations/index.ts";

/** What holds subnets, besides other Nodes, as `PoolHolds.obstacles` has it. */
export interface Obstacles {
    /** Names of IPPools with addresses or gateways in the subnets. */
    readonly pools: readonly string[];
    /** Allocations of such addresses outside every pool. */
    readonly allocations: readonly Allocation[];
}

const shownAllocations = 3;

/** Sentences that name the obstacles and how to remove them, each after a space; "" without obstacles. */
export function obstaclesText({ pools = [], allocations = [] }: Partial<Obstacles> = {}): string {
    const poolsText =
        pools.length === 0
            ? ""
            : ` In the way: ${listText(pools, (name) => `IPPool ${name}`)}; move its addresses outside nodeIPAM.clusterCIDRs.`;
    if (allocations.length === 0) return poolsText;
    const held = listText(
        allocations,
        (allocation) =>
            `IPAllocation ${allocation.metadata.name} (${describeHolder(allocation)}, IPPool ${allocation.pool})`,
    );
    return `${poolsText} In the way, of addresses that no IPPool has: ${held}; delete that Pod or owner, which frees the address.`;
}

/** The addresses of allocations, each with its IPPool: the first three and the number of the others. */
export function addressesText(allocations: readonly Allocation[]): string {
    return listText(allocations, ({ ip, pool }) => `${formatIp(ip)} (IPPool ${pool})`);
}

/** Formats only the listed items: there may be 65,000, and every waiting Node calls it. */
function listText<T>(all: readonly T[], text: (one: T) => string): string {
    const more = all.length - shownAllocations;
    return all.slice(0, shownAllocations).map(text).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
