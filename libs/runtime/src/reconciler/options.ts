import type { BackoffOptions, Clock } from "@antrea/async";
import type { Logger } from "../logger.ts";
import type { MetricsFactory } from "../metrics.ts";

export interface ReconcilerComponents {
    readonly logger: Logger;
    /** Default: the clock of the machine. */
    readonly clock?: Clock | undefined;
    /** Gets the metrics `antrea_reconciler_*`, which all reconcilers of a process share. */
    readonly metrics?: MetricsFactory | undefined;
}

export interface ReconcilerOptions<K, V> {
    /** The label in metrics, folder and name, e.g. `pod-network/host-routes`; one a process. */
    readonly name: string;
    /** How long after the last full pass the next one is due, in milliseconds. Default 60,000. */
    readonly fullEveryMs?: number;
    /** The delays before retries of one object. Default from 1 s to 60 s, without jitter. */
    readonly backoff?: BackoffOptions;
    /** Objects that a pass works on at the same time, where there is no `updateMany` or `deleteMany`. Default 1. */
    readonly concurrency?: number;
    /** Whether a value that is set is the one before, so that nothing is to be done. Default `Object.is`. */
    readonly isEqual?: (one: V, other: V) => boolean;
    /** A key in logs. Default `String`. */
    readonly keyText?: (key: K) => string;
}

export interface PassResult {
    /** Objects whose last try failed. */
    readonly failed: number;
    /** What one of them was refused with; undefined when there is none. */
    readonly error: unknown;
    /** After so many milliseconds the next retry is due, or what changed during the pass; undefined: nothing is open. */
    readonly againInMs: number | undefined;
}
