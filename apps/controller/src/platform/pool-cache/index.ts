/** IPPools as they apply to this cluster, for all features of the controller. */
export { PoolCache, type PoolCacheComponents, type PoolChange, type PoolListener } from "./pool-cache.ts";
export { furtherText, type FurtherAddresses } from "./crowded-nodes.ts";
