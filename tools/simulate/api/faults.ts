/** Probabilities of request faults, from 0 to 1, with a sum of at most 1. */
export interface RequestFaults {
    /** No connection; the request is never sent. */
    readonly refused: number;
    /** The connection breaks before the server receives the request. */
    readonly lostRequest: number;
    /** The connection breaks after the request took effect. */
    readonly lostReply: number;
    /** No response; the request takes effect much later, possibly after the client's timeout. */
    readonly lateEffect: number;
    /** The status line arrives, the body does not. */
    readonly cutBody: number;
    /** 429 with Retry-After. */
    readonly throttled: number;
    /** 500, 503 or 504, whether or not the request took effect. */
    readonly serverError: number;
}

/** The names of all request faults. */
export const requestFaults = [
    "refused",
    "lostRequest",
    "lostReply",
    "lateEffect",
    "cutBody",
    "throttled",
    "serverError",
] as const satisfies readonly (keyof RequestFaults)[];

export type RequestFault = (typeof requestFaults)[number];

/** No request faults. */
export const noFaults: RequestFaults = {
    refused: 0,
    lostRequest: 0,
    lostReply: 0,
    lateEffect: 0,
    cutBody: 0,
    throttled: 0,
    serverError: 0,
};

/** Probabilities of watch faults, per line and per start of a watch. */
export interface WatchFaults {
    /** The connection breaks. */
    readonly broken: number;
    /** The next lines are delayed. */
    readonly stalled: number;
    /** 410: the requested version was compacted. */
    readonly expired: number;
}

/** No watch faults. */
export const noWatchFaults: WatchFaults = { broken: 0, stalled: 0, expired: 0 };
