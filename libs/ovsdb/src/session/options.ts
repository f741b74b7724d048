/** The methods of a logger that a session uses; every logger of the project has them. */
export interface SessionLogger {
    debug(message: string, fields?: Readonly<Record<string, unknown>>): void;
    info(message: string, fields?: Readonly<Record<string, unknown>>): void;
    warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** What a session needs from outside: a logger, for the connection, the lock and errors of listeners. */
export interface OvsdbSessionComponents {
    readonly logger: SessionLogger;
}

/** Options of an `OvsdbSession`; only `socketPath` and `monitor` have no default. */
export interface OvsdbSessionOptions {
    /** Path of the server's unix socket. */
    readonly socketPath: string;
    /** Default `Open_vSwitch`. */
    readonly database?: string;
    /** The columns to keep a copy of, by table. A table or column that the database lacks makes `ready` fail. */
    readonly monitor: Readonly<Record<string, readonly string[]>>;
    /**
     * The lock that this session requests, and that each of its transactions asserts: letters, digits and `_`, no digit
     * first. Default: none.
     */
    readonly lock?: string;
    /** Milliseconds without a byte from the server after which an echo request is sent. Default 5000. */
    readonly echoIntervalMs?: number;
    /** Milliseconds for an echo, a connect or a step of the start, before the connection is closed. Default 10 000. */
    readonly answerTimeoutMs?: number;
    /** Default time limit of a transaction, in ms. Default 10 000. */
    readonly transactTimeoutMs?: number;
    /** Pause before the second attempt to connect, in ms; doubled for each further one. Default 50. */
    readonly minBackoffMs?: number;
    /** The longest pause between attempts, in ms. Default 2000. */
    readonly maxBackoffMs?: number;
    /** The longest message that is accepted; the first snapshot is one message. Default 64 MiB. */
    readonly maxMessageBytes?: number;
    /**
     * Most bytes that wait to be read by the server; beyond it calls fail with `QUEUE_FULL`, a request that alone is
     * larger with `BAD_ARGUMENT`. Default 16 MiB.
     */
    readonly maxQueuedBytes?: number;
    /** Most requests that wait for an answer; beyond it calls fail with `QUEUE_FULL`. Default 10 000. */
    readonly maxPendingRequests?: number;
}

/** The defaults of `OvsdbSessionOptions`, in milliseconds and bytes. */
export const defaultSessionOptions = {
    database: "Open_vSwitch",
    echoIntervalMs: 5_000,
    answerTimeoutMs: 10_000,
    transactTimeoutMs: 10_000,
    minBackoffMs: 50,
    maxBackoffMs: 2_000,
    maxMessageBytes: 64 * 1024 * 1024,
    maxQueuedBytes: 16 * 1024 * 1024,
    maxPendingRequests: 10_000,
} satisfies Partial<OvsdbSessionOptions>;

/**
 * State of the session's lock (RFC 7047 sections 4.1.8 to 4.1.10): `none` before the first request, `waiting` in the
 * server's queue, also until the next connection if one ends meanwhile, `locked` owned by this session, `lost` after
 * the connection ended or another session stole it; it is requested again automatically.
 */
export type LockState = "none" | "waiting" | "locked" | "lost";

/**
 * Options of one transaction. After `signal` aborts (`ABORTED`) or the time has passed (`OUTCOME_UNKNOWN`), it may have
 * taken effect.
 */
export interface CallOptions {
    readonly signal?: AbortSignal | undefined;
    /** In ms. Default: the session's `transactTimeoutMs`. */
    readonly timeoutMs?: number | undefined;
}

/** Options of `OvsdbSession.until`: the signal rejects with `ABORTED`, the end of the time with `TIMEOUT`. */
export interface UntilOptions {
    readonly signal?: AbortSignal | undefined;
    /** In ms. */
    readonly timeoutMs: number;
    /** Names what the caller waits for, in messages. */
    readonly what?: string;
}
