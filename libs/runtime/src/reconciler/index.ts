/** A generic reconciler: diff of desired and actual objects, retries, status, metrics and logging. */
export type { Change, Operations, Removal } from "./operations.ts";
export type { PassResult, ReconcilerComponents, ReconcilerOptions } from "./options.ts";
export { Reconciler } from "./reconciler.ts";
export type { ObjectState, ObjectStatus } from "./status.ts";
