import { Backoff, sleep } from "@antrea/async";
import { isErrorOf, messageOf } from "@antrea/errors";
import { encodeOperations } from "../codec/encode-operation.ts";
import { OvsdbError } from "../codec/error.ts";
import { assertLock, type Operation } from "../codec/operation.ts";
import { decodeResults, type OperationResult } from "../codec/result.ts";
import { decodeSchema, pickColumns, type DatabaseSchema } from "../codec/schema.ts";
import { type Row } from "../codec/value.ts";
import { RowCache, type RowChange } from "./cache.ts";
import { connect, stopped } from "./connect.ts";
import { Listeners } from "./listeners.ts";
import { SessionLock } from "./lock.ts";
import { Monitor, type ResumePoint } from "./monitor.ts";
import {
    defaultSessionOptions,
    type CallOptions,
    type LockState,
    type OvsdbSessionComponents,
    type OvsdbSessionOptions,
    type SessionLogger,
    type UntilOptions,
} from "./options.ts";
import { RpcConnection } from "./rpc-connection.ts";
import { Waiters } from "./waiters.ts";

/**
 * A state owns its members: they are dropped with the state. `connecting` lasts until the snapshot is in the copy. Timers
 * and requests belong to the connection, which ends them itself.
 */
type State =
    | { readonly kind: "idle" | "connecting" | "closed" }
    | {
          readonly kind: "ready";
          readonly connection: RpcConnection;
          readonly schema: DatabaseSchema;
          readonly monitor: Monitor;
      };

/**
 * A session with an OVSDB server (RFC 7047) that keeps a copy of the monitored rows and reconnects automatically.
 *
 * - The copy has every committed change in the order of the commits, and a transaction's own changes before its
 *   `transact` resolves. While disconnected it stays unchanged; after a reconnect the changes since then are reported
 *   like any other, so a listener that follows `onChange` from the start never misses or repeats one.
 * - Nothing is sent twice: a transaction whose answer was lost rejects with `OUTCOME_UNKNOWN`, and the caller must
 *   check the rows.
 * - Listeners are called synchronously; an error that one throws is logged and otherwise ignored.
 * - It runs from `start` until the signal of `start` aborts or `close` is called, and cannot be started again.
 */
export class OvsdbSession implements AsyncDisposable {
    readonly #logger: SessionLogger;
    readonly #options: OvsdbSessionOptions & typeof defaultSessionOptions;
    readonly #cache: RowCache;
    readonly #lock: SessionLock | undefined;
    readonly #waiters = new Waiters();
    readonly #stop = new AbortController();
    readonly #changed: Listeners<[changes: readonly RowChange[]]>;
    readonly #connected: Listeners<[]>;
    readonly #disconnected: Listeners<[]>;
    readonly #lockChanged: Listeners<[state: LockState]>;
    #state: State = { kind: "idle" };
    #running: Promise<void> | undefined;
    #resume: ResumePoint | undefined;
    #lastError: OvsdbError | undefined;

    /** Connects only after `start`. @throws OvsdbError `BAD_ARGUMENT` when the lock's name is not an <id> */
    constructor(components: OvsdbSessionComponents, options: OvsdbSessionOptions) {
        this.#logger = components.logger;
        this.#options = { ...defaultSessionOptions, ...options } as OvsdbSessionOptions & typeof defaultSessionOptions;
        this.#cache = new RowCache(Object.keys(options.monitor));
        const failed = (error: unknown): void => {
            this.#logger.warn("a listener of the database session failed", { error: messageOf(error) });
        };
        this.#changed = new Listeners(failed);
        this.#connected = new Listeners(failed);
        this.#disconnected = new Listeners(failed);
        this.#lockChanged = new Listeners(failed);
        if (options.lock !== undefined) {
            this.#lock = new SessionLock(options.lock, (state) => this.#onLockState(state));
        }
    }

    /**
     * Connects, and reconnects until the signal aborts, which closes the session.
     *
     * @throws OvsdbError `BAD_ARGUMENT` at a second call or after `close`
     */
    start(signal: AbortSignal): void {
        if (this.#running !== undefined || this.#state.kind === "closed") {
            throw new OvsdbError("BAD_ARGUMENT", "caller", "a session is started once: make a new one");
        }
        const onAbort = (): void => this.#stop.abort(signal.reason);
        if (signal.aborted) onAbort();
        signal.addEventListener("abort", onAbort, { once: true });
        this.#running = this.#run(this.#stop.signal).finally(() => signal.removeEventListener("abort", onAbort));
    }

    /** Why the database cannot be used now, as text for health checks; undefined when the session is ready. */
    get problem(): string | undefined {
        const { kind } = this.#state;
        if (kind === "ready") return undefined;
        if (kind === "connecting" && this.#lastError !== undefined) return messageOf(this.#lastError);
        return `the session with the database is ${kind}`;
    }

    /**
     * Resolves when connected with the first snapshot in the copy; immediately if that is so already. Has no time
     * limit.
     *
     * @throws OvsdbError `SCHEMA_MISMATCH`, `ABORTED` (with the last failure as its cause), `CLOSED`
     */
    async ready(signal?: AbortSignal): Promise<void> {
        const probe = (): true | undefined => {
            if (this.#state.kind === "ready") return true;
            if (isErrorOf(OvsdbError, this.#lastError, "SCHEMA_MISMATCH")) throw this.#lastError;
            return undefined;
        };
        await this.#waiters.wait(probe, { what: "the database", signal, why: () => this.#lastError });
    }

    /** State of the lock of the option `lock`; `none` without it. */
    get lockState(): LockState {
        return this.#lock?.state ?? "none";
    }

    /**
     * Resolves when this session owns its lock.
     *
     * @throws OvsdbError `ABORTED`, `CLOSED`; `BAD_ARGUMENT` without the option `lock`
     */
    async lockAcquired(signal?: AbortSignal): Promise<void> {
        const lock = this.#lock;
        if (lock === undefined) {
            throw new OvsdbError("BAD_ARGUMENT", "caller", "the session has no lock: set its option lock");
        }
        const probe = (): true | undefined => (lock.state === "locked" ? true : undefined);
        await this.#waiters.wait(probe, { what: `lock ${lock.name}`, signal, why: () => this.#lastError });
    }

    /**
     * The rows of a monitored table by UUID. The map is the live copy: it shows later changes; rows never change.
     *
     * @throws OvsdbError `BAD_ARGUMENT` for a table that is not monitored
     */
    rows(table: string): ReadonlyMap<string, Row> {
        return this.#cache.rows(table);
    }

    /**
     * Calls the listener with all changes of one commit, or of one (re)connect, after they are in the copy; never with
     * none. Disposal removes it.
     */
    onChange(listener: (changes: readonly RowChange[]) => void): Disposable {
        return this.#changed.add(listener);
    }

    /**
     * Calls the listener after each (re)connect, when the snapshot is in the copy and its changes have been reported.
     */
    onConnect(listener: () => void): Disposable {
        return this.#connected.add(listener);
    }

    /** Calls the listener when a connection that was ready has ended. */
    onDisconnect(listener: () => void): Disposable {
        return this.#disconnected.add(listener);
    }

    /** Calls the listener with each new state of the lock. */
    onLockChange(listener: (state: LockState) => void): Disposable {
        return this.#lockChanged.add(listener);
    }

    /**
     * Resolves with the first result of `probe` that is not undefined; it is called now and after each change. An error
     * that it throws rejects.
     *
     * @throws OvsdbError `TIMEOUT`, `ABORTED`, `CLOSED`
     */
    async until<T>(probe: () => T | undefined, options: UntilOptions): Promise<T> {
        const what = options.what ?? "the awaited change of the database";
        return this.#waiters.wait(probe, { ...options, what, why: () => this.#lastError });
    }

    /**
     * Commits all operations or none. With the option `lock` the server first checks that this session owns it.
     * Transactions are sent immediately and run in the order of the calls.
     *
     * @returns one result for each operation, at its index
     * @throws OvsdbError of the server with the rejected operation (`details`, `operationIndex`); `BAD_ARGUMENT`,
     *   `DISCONNECTED`, `CLOSED` and `QUEUE_FULL` when nothing was sent; `OUTCOME_UNKNOWN` when the connection, the
     *   session or the time ended before the answer; `ABORTED`, after which it may have taken effect; `BAD_MESSAGE` or
     *   `BAD_VALUE` for an answer that cannot be read
     */
    async transact(operations: readonly Operation[], options: CallOptions = {}): Promise<readonly OperationResult[]> {
        const own = this.#lock === undefined ? [] : [assertLock(this.#lock.name)];
        const encoded = [...encodeOperations(own), ...encodeOperations(operations)];
        const state = this.#state;
        if (state.kind === "closed") throw stopped();
        if (state.kind !== "ready") {
            const message = "there is no connection to the database: nothing was sent, wait for ready() and ask again";
            throw new OvsdbError("DISCONNECTED", "environment", message, { cause: this.#lastError });
        }
        const { schema, connection } = state;
        const receive = (result: unknown): readonly OperationResult[] => {
            return decodeResults(result, [...own, ...operations], schema, own.length).slice(own.length);
        };
        return connection.request("transact", [this.#options.database, ...encoded], receive, {
            timeoutMs: options.timeoutMs ?? this.#options.transactTimeoutMs,
            signal: options.signal,
            changes: true,
        });
    }

    /**
     * Ends the connection, and with it the lock. Pending transactions reject with `OUTCOME_UNKNOWN`, pending waits and
     * later transactions with `CLOSED`; the copy of the rows stays. Resolves when the session has ended. Idempotent.
     */
    async close(): Promise<void> {
        this.#stop.abort();
        if (this.#running === undefined) this.#finish();
        await this.#running;
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.close();
    }

    async #run(signal: AbortSignal): Promise<void> {
        const { minBackoffMs, maxBackoffMs } = this.#options;
        const backoff = new Backoff({ initialMs: minBackoffMs, maxMs: maxBackoffMs, jitter: 0 });
        this.#enter({ kind: "connecting" });
        while (!signal.aborted) {
            await sleep(backoff.nextAfter(await this.#serve(signal)), signal).catch(() => undefined);
        }
        this.#finish();
    }

    /** The only place that changes the state; returns the previous one. */
    #enter(state: State): State {
        const left = this.#state;
        this.#state = state;
        return left;
    }

    /**
     * Runs one connection, from the attempt to its end. Never rejects. @returns for how many milliseconds it was ready
     */
    async #serve(signal: AbortSignal): Promise<number> {
        let connection: RpcConnection | undefined;
        const onAbort = (): void => connection?.end(stopped(signal.reason));
        signal.addEventListener("abort", onAbort, { once: true });
        const onEnd = (reason: OvsdbError): void => this.#onEnd(reason, signal);
        try {
            const socket = await connect(this.#options.socketPath, this.#options.answerTimeoutMs, signal);
            connection = new RpcConnection(socket, this.#options, {
                onNotification: (method, params) => this.#onNotification(method, params),
                onEnd,
            });
            if (signal.aborted) onAbort();
            await this.#synchronize(connection);
            const since = performance.now();
            await connection.ended;
            return performance.now() - since;
        } catch (error) {
            const reason = error instanceof OvsdbError ? error : unexpected(error);
            if (connection === undefined) onEnd(reason);
            else connection.end(reason);
            return 0;
        } finally {
            signal.removeEventListener("abort", onAbort);
        }
    }

    async #synchronize(connection: RpcConnection): Promise<void> {
        const { database, answerTimeoutMs: timeoutMs, monitor: wanted } = this.#options;
        const [schema] = await Promise.all([
            connection.request("get_schema", [database], decodeSchema, { timeoutMs, changes: false }),
            this.#lock?.request(connection, timeoutMs),
        ]);
        const resume = this.#resume;
        // Used once: if the updates do not fit the rows, the next attempt requests a whole snapshot.
        this.#resume = undefined;
        const monitor = new Monitor(this.#cache, schema, pickColumns(schema, wanted));
        await monitor.start(connection, resume, timeoutMs, (changes, resumed) => {
            this.#enter({ kind: "ready", connection, schema, monitor });
            this.#lastError = undefined;
            this.#logger.info("connected to the database", { database, changedRows: changes.length, resumed });
            this.#onChanges(changes);
            this.#connected.emit();
            this.#waiters.evaluate();
        });
    }

    #onNotification(method: string, params: readonly unknown[]): void {
        if (method === "locked" || method === "stolen") {
            if (this.#lock?.notified(method, params) === true) return;
        } else {
            const changes = this.#state.kind === "ready" ? this.#state.monitor.notified(method, params) : undefined;
            if (changes !== undefined) {
                this.#onChanges(changes);
                return;
            }
        }
        this.#logger.debug("ignored a notification of the database", { method });
    }

    #onChanges(changes: readonly RowChange[]): void {
        if (changes.length === 0) return;
        this.#changed.emit(changes);
        this.#waiters.evaluate();
    }

    #onLockState(state: LockState): void {
        const log = state === "lost" ? this.#logger.warn : this.#logger.info;
        log.call(this.#logger, "the database lock changed", { lock: this.#lock?.name, state });
        this.#lockChanged.emit(state);
        this.#waiters.evaluate();
    }

    /** Ends all that depends on the connection, or reports that an attempt failed. Its listeners see the new state. */
    #onEnd(reason: OvsdbError, signal: AbortSignal): void {
        const left = this.#enter({ kind: "connecting" });
        const wasReady = left.kind === "ready";
        if (wasReady && isErrorOf(OvsdbError, reason, "DISCONNECTED")) this.#resume = left.monitor.resumePoint;
        if (!signal.aborted) {
            // Warn once per new failure; the attempts that follow fail for the same reason.
            const isNew = wasReady || this.#lastError?.message !== reason.message;
            const log = isNew ? this.#logger.warn : this.#logger.debug;
            log.call(this.#logger, "no connection to the database", { reason: messageOf(reason), code: reason.code });
        }
        this.#lastError = reason;
        this.#lock?.connectionEnded();
        if (wasReady) this.#disconnected.emit();
        this.#waiters.evaluate();
    }

    #finish(): void {
        this.#enter({ kind: "closed" });
        this.#waiters.close(stopped());
    }
}

function unexpected(cause: unknown): OvsdbError {
    return new OvsdbError("BAD_MESSAGE", "internal", "the database session failed", { cause });
}
