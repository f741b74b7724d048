/** What IPPools mean in this cluster, for all features of the controller. */
export {
    PoolBook,
    type FurtherAddresses,
    type Overlap,
    type PoolBookComponents,
    type PoolChange,
    type PoolListener,
} from "./pool-book.ts";
