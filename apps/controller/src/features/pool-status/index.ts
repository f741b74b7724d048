/** Keeps the status of IPPools. */
export { poolStatus } from "./feature.ts";
