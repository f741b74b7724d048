export { AddressBook, type KnownAddresses } from "./addresses.ts";
export { ClusterBook, type ClusterBookComponents } from "./cluster-book.ts";
export { type PoolBook, type PoolView } from "./pools.ts";
export { type Workload } from "./slim.ts";
export { type UserBook } from "./users.ts";
