import { formatIp } from "@antrea/ip";
import { type Demand } from "./demand.ts";
import { IpPoolError } from "./errors.ts";
import { type KnownPool } from "./pool-cache.ts";
import { type AllocationRequest, type NetworkRequest } from "./types.ts";

/** Whether the request is for an interface of a network, not for the Pod's own interface. */
export function isForNetwork(request: AllocationRequest | NetworkRequest): request is NetworkRequest {
    return "network" in request;
}

/** The names of the pools that a request needs, each once, in its order. */
export function poolNamesOf(request: AllocationRequest | NetworkRequest): readonly string[] {
    return isForNetwork(request) ? [...new Set(request.demands.map(({ pool }) => pool))] : request.pools;
}

/**
 * The demands of a request: for the Pod's own interface one for each family of its pools, for one of a network those of
 * the request, each of one pool. Throws IpPoolError `NOT_IN_POOL` for a fixed address of a family of which no pool is.
 *
 * @param pools the pools of `poolNamesOf`
 */
export function demandsOf(request: AllocationRequest | NetworkRequest, pools: readonly KnownPool[]): readonly Demand[] {
    if (isForNetwork(request)) {
        return request.demands.map(({ pool, fixed }) => ({
            pools: pools.filter((known) => known.pool.name === pool),
            fixed,
        }));
    }
    const families = [...Map.groupBy(pools, ({ pool }) => pool.family)];
    for (const ip of request.fixed) {
        if (families.some(([family]) => family === ip.family)) continue;
        throw new IpPoolError(
            "NOT_IN_POOL",
            `the fixed address ${formatIp(ip)} is of IPv${ip.family} and none of the IPPools ${request.pools.join(", ")} is; name an IPv${ip.family} IPPool too, or drop the address`,
        );
    }
    return families.map(([family, candidates]) => ({
        pools: candidates,
        fixed: request.fixed.find((ip) => ip.family === family),
    }));
}
