export { AddressCache, type KnownAddresses } from "./addresses.ts";
export { ClusterCache, type ClusterCacheComponents } from "./cluster-cache.ts";
export { type PoolCache, type PoolView } from "./pools.ts";
export { type Workload } from "./slim.ts";
export { type ReferenceCache } from "./users.ts";
