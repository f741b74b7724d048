/** What IPPools mean in this cluster, for all features of the controller. */
export { addressesOf, podCidrsOf } from "./cluster.ts";
export { PoolBook, type Overlap, type PoolBookComponents, type PoolChange, type PoolListener } from "./pool-book.ts";
