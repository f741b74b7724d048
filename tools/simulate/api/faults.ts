/** How likely each accident of a request is, from 0 to 1; all of them together at most 1. */
export interface RequestFaults {
    /** No connection; the request was never sent. */
    readonly refused: number;
    /** The connection breaks before the server has the request. */
    readonly lostRequest: number;
    /** The connection breaks after the request took effect. */
    readonly lostReply: number;
    /** No answer; the request takes effect much later, maybe after its sender gave up. */
    readonly lateEffect: number;
    /** The status line comes, the body does not. */
    readonly cutBody: number;
    /** 429 with Retry-After. */
    readonly throttled: number;
    /** 500, 503 or 504, whether the request took effect or not. */
    readonly serverError: number;
}

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

export const noFaults: RequestFaults = {
    refused: 0,
    lostRequest: 0,
    lostReply: 0,
    lateEffect: 0,
    cutBody: 0,
    throttled: 0,
    serverError: 0,
};

/** How likely each accident of a watch is: at each line, and at its beginning. */
export interface WatchFaults {
    /** The connection breaks. */
    readonly broken: number;
    /** The next lines come much later. */
    readonly stalled: number;
    /** 410: what came after that version is forgotten. */
    readonly expired: number;
}

export const noWatchFaults: WatchFaults = { broken: 0, stalled: 0, expired: 0 };
