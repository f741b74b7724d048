/** Keeps the status of IPPools up to date. */
export { poolStatus } from "./feature.ts";
