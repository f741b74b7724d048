export { type DelegatedPools } from "./delegated-ipam.ts";
export { delegatedErrorCode } from "./errors.ts";
