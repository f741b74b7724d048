import type { BackoffOptions, Clock } from "@antrea/async";
import type { Logger } from "../logger.ts";
import type { MetricsFactory } from "../metrics.ts";

/**
 * Dependencies of a reconciler: it logs failures and recoveries of passes, and without `metrics` reports nothing else.
 */
export interface ReconcilerComponents {
    readonly logger: Logger;
    /** Default: `systemClock`. */
    readonly clock?: Clock | undefined;
    /** Receives the metrics `antrea_reconciler_*`, which all reconcilers of a process share. */
    readonly metrics?: MetricsFactory | undefined;
}

/**
 * Options of a reconciler: its name in metrics, when full passes and retries are due, and how keys and values are
 * compared and shown.
 */
export interface ReconcilerOptions<K, V> {
    /**
     * Label in metrics: folder and name, e.g. `pod-network/host-routes`; unique in the process, or the counts of the
     * later reconciler replace those of the earlier.
     */
    readonly name: string;
    /** Milliseconds after the last full pass at which the next one is due. Default 60,000. */
    readonly fullEveryMs?: number;
    /** Delays before retries of one object. Default from 1 s to 60 s, without jitter. */
    readonly backoff?: BackoffOptions;
    /** Number of objects that a pass processes in parallel, without `updateMany` or `deleteMany`. Default 1. */
    readonly concurrency?: number;
    /** True if a new value equals the previous one, so that no update is needed. Default `Object.is`. */
    readonly isEqual?: (one: V, other: V) => boolean;
    /** Formats a key for logs. Default `String`. */
    readonly keyText?: (key: K) => string;
}

/** Result of a pass: failures, and when the next pass has work. */
export interface PassResult {
    /** Number of objects whose last operation failed. */
    readonly failed: number;
    /** The error of one of them; undefined if there is none. */
    readonly error: unknown;
    /**
     * Milliseconds until the next retry is due, 0 if an object changed during the pass; undefined if nothing is open.
     */
    readonly againInMs: number | undefined;
}
