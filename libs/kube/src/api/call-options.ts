/** Options of every request: cancellation and time limit. `undefined` is the default of each. */
export interface CallOptions {
    /** Cancels the request, which then rejects with ABORTED (see ApiClient). */
    readonly signal?: AbortSignal | undefined;
    /**
     * Limit in milliseconds for the whole call, retries included (of a list: for each page); also sent to the server as
     * the limit of a write. Default 30,000.
     */
    readonly timeoutMs?: number | undefined;
}

/** Options of a write: subresource, field manager, and whether an apply takes over fields. */
export interface WriteOptions extends CallOptions {
    /** Subresource to write, such as `status`. Default: the object itself. */
    readonly subresource?: string | undefined;
    /** Field manager that owns the written fields. Default: the client's user agent up to "/". */
    readonly fieldManager?: string | undefined;
    /** With an `apply` patch: take over fields that other managers own. Default false. */
    readonly force?: boolean | undefined;
}

/** Options of a deletion; its preconditions fail with CONFLICT. */
export interface DeleteOptions extends CallOptions {
    /** Precondition: the object has this UID. */
    readonly uid?: string | undefined;
    /** Precondition: the object has this resourceVersion. */
    readonly resourceVersion?: string | undefined;
    /**
     * Seconds that the object may take to end, 0 for none. Default: that of the server for its kind (Pods: that of the
     * Pod, 30).
     */
    readonly gracePeriodSeconds?: number | undefined;
}

/** Options of a list: namespace, selectors and page size. `timeoutMs` limits each page, not the whole list. */
export interface ListOptions extends CallOptions {
    /** Restricts the list to one namespace. Default: all. */
    readonly namespace?: string | undefined;
    /** As `kubectl get --field-selector`, such as `spec.nodeName=worker-1`. Default: all objects. */
    readonly fieldSelector?: string | undefined;
    /** As `kubectl get --selector`. Default: all objects. */
    readonly labelSelector?: string | undefined;
    /** Objects per request. Default 500. */
    readonly pageSize?: number | undefined;
}

/** Options of a list whose objects the caller does not keep as they are. */
export interface ReducedListOptions<T> extends ListOptions {
    /**
     * Reduces each object as soon as its page was read, so that whole objects of one page at most are in memory. An object
     * for which it returns undefined is left out.
     */
    readonly transform?: ((object: T) => T | undefined) | undefined;
}

/** Objects of a list, or of one page of it, with the list's resourceVersion. */
export interface ListResult<T> {
    readonly items: readonly T[];
    /** resourceVersion of the list; a watch can continue from it. */
    readonly resourceVersion: string;
}

/**
 * Options of a watch: where it starts, what it selects (as ListOptions), when it ends. The signal also ends the body of
 * the answer.
 */
export interface WatchOptions {
    /** Restricts the watch to one namespace. Default: all. */
    readonly namespace?: string | undefined;
    readonly fieldSelector?: string | undefined;
    readonly labelSelector?: string | undefined;
    /** resourceVersion after which events are sent. */
    readonly resourceVersion: string;
    /** After this many seconds the server ends the watch. */
    readonly timeoutSeconds: number;
    readonly signal: AbortSignal;
}
