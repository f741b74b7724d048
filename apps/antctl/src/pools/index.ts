export { conditionWords } from "./conditions.ts";
export { PoolSet, type PoolEntry } from "./pool-set.ts";
