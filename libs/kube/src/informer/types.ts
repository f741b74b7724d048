import { type Clock } from "@antrea/async";
import { type ApiClient } from "../api/client.ts";
import { type Resource } from "../api/resources.ts";
import { type KubeObject } from "../api/types.ts";
import { type KubeError } from "../errors.ts";
import { type KubeLogger } from "../logger.ts";

/** Dependencies of an informer: it lists and watches by `api`, and logs failures, which it retries. */
export interface InformerComponents {
    /** Applies the `transform` of a list to each object. */
    readonly api: Pick<ApiClient, "list" | "watch">;
    readonly logger: KubeLogger;
    /** Default: `systemClock`. `idleTimeoutMs` is always measured by the operating system's timers. */
    readonly clock?: Clock;
}

/** Options of an informer: which objects it lists and watches, what it keeps of them, and its limits and delays. */
export interface InformerOptions<T extends KubeObject> {
    readonly resource: Resource<T>;
    /** Restricts the informer to one namespace. Default: all. */
    readonly namespace?: string | undefined;
    /** Field selector, such as `spec.nodeName=worker-1`. */
    readonly fieldSelector?: string | undefined;
    readonly labelSelector?: string | undefined;
    /**
     * Reduces an object to what is kept in memory. Namespace, name, UID and resourceVersion must remain; listeners get
     * the result. An object for which it throws is logged, and stays as it was known last, or unknown. Default: removes
     * managedFields.
     */
    readonly transform?: ((object: T) => T) | undefined;
    /**
     * Milliseconds without a line of the watch (bookmarks come about every minute) after which the connection counts as
     * dead. Default: random between 80,000 and 120,000.
     */
    readonly idleTimeoutMs?: number | undefined;
    /** Longest line of a watch in bytes. Default 16 MiB. */
    readonly maxLineBytes?: number | undefined;
    /** Delay after the first failure in milliseconds, doubled up to `maxBackoffMs`. Defaults 200 and 15,000. */
    readonly initialBackoffMs?: number | undefined;
    readonly maxBackoffMs?: number | undefined;
    /** Objects per request of a list. Default 500. */
    readonly pageSize?: number | undefined;
}

/**
 * State of an informer. `idle`: not started. `listing`: from the start of a list until the watch is answered.
 * `watching`: the API server has answered the watch. `waiting`: after `lastError`, until the next list begins or the
 * next watch is answered; `sinceMs` is wall time in milliseconds. `stopped`: for good.
 */
export type InformerState =
    | { readonly kind: "idle" }
    | { readonly kind: "listing" }
    | { readonly kind: "watching" }
    | { readonly kind: "waiting"; readonly lastError: KubeError; readonly sinceMs: number }
    | { readonly kind: "stopped" };

/**
 * Called when the changes that a list showed have been reported. `began` is the monotonic time (ms) at which it began:
 * an object that existed then and is not known has been deleted, or `transform` throws for it. An exception is logged and
 * has no other effect.
 */
export type ListListener = (began: number) => void;
