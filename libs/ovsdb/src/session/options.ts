/** Where a session writes what happens to it; every logger of the project fits. */
export interface SessionLogger {
    debug(message: string, fields?: Readonly<Record<string, unknown>>): void;
    info(message: string, fields?: Readonly<Record<string, unknown>>): void;
    warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** What a session needs from outside. */
export interface OvsdbSessionComponents {
    readonly logger: SessionLogger;
}

export interface OvsdbSessionOptions {
    /** Path of the server's unix socket. */
    readonly socketPath: string;
    /** Default `Open_vSwitch`. */
    readonly database?: string;
    /** The columns to keep a copy of, by table. A table or column that the database lacks makes `ready` fail. */
    readonly monitor: Readonly<Record<string, readonly string[]>>;
    /**
     * The lock this session asks for, and that each of its transactions asserts. OVSDB takes names of letters, digits
     * and `_` only. Default: none.
     */
    readonly lock?: string;
    /** Silence of the server after which it is asked for an echo, in ms. Default 5000. */
    readonly echoIntervalMs?: number;
    /** How long an echo, a connect or a step of the start may take until the connection is given up, in ms. Default 10 000. */
    readonly answerTimeoutMs?: number;
    /** How long a transaction may take when the caller does not say, in ms. Default 10 000. */
    readonly transactTimeoutMs?: number;
    /** Pause before the second attempt to connect, in ms; doubled for each further one. Default 50. */
    readonly minBackoffMs?: number;
    /** The longest pause between attempts, in ms. Default 2000. */
    readonly maxBackoffMs?: number;
    /** The longest message that is accepted; the first snapshot is one message. Default 64 MiB. */
    readonly maxMessageBytes?: number;
    /** Bytes that may wait to be taken by the server. Default 16 MiB. */
    readonly maxQueuedBytes?: number;
    /** Requests that may wait for their answer. Default 10 000. */
    readonly maxPendingRequests?: number;
}

/** The options that a session takes when it is told nothing else. */
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

/** `lost`: it was held, and the connection ended or another session stole it; it is asked for again by itself. */
export type LockState = "none" | "waiting" | "locked" | "lost";

/** Of one transaction. */
export interface CallOptions {
    readonly signal?: AbortSignal | undefined;
    /** In ms. Default: the session's `transactTimeoutMs`. */
    readonly timeoutMs?: number | undefined;
}

export interface UntilOptions {
    readonly signal?: AbortSignal | undefined;
    readonly timeoutMs: number;
    /** What is waited for, for messages. */
    readonly what?: string;
}
