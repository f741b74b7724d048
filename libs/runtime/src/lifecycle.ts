import { AsyncError, type Clock, systemClock, abortedError, withTimeout } from "@antrea/async";
import { isAborted, messageOf } from "@antrea/errors";
import { RuntimeError } from "./errors.ts";
import { type Logger } from "./logger.ts";

/** A part of a program that is started and stopped with the process, once. Its name is unique in the Lifecycle. */
export interface LifecyclePart {
    /** Id of its module. */
    readonly name: string;
    /** Ids of what its `start` starts, in that order; used for `Lifecycle.startOrder` only. Default: none. */
    readonly includes?: readonly string[];
    /**
     * Resolves when the part is in operation, rejects when it cannot be; a start that rejects must clean up, as `stop`
     * is not called then. The signal lives as long as the part: it aborts when the start is abandoned, and right before
     * `stop`. So it is for background work, but not for work that `stop` shall let finish.
     */
    start?(signal: AbortSignal): Promise<void> | void;
    /**
     * Runs before any part is stopped, in reverse start order, while all parts still operate: for work that must end
     * first, such as calls in progress. Has the limit of `stop`, which follows even if it fails. Called at most once,
     * only after a successful start.
     */
    preStop?(): Promise<void> | void;
    /**
     * Resolves when the part has no more work running. Called at most once, only after a successful start; with
     * `startFailed` if a later part did not start, which is no stop that was asked for.
     */
    stop?(o?: { readonly startFailed: boolean }): Promise<void> | void;
    /** Limit of `start` in milliseconds. Default: that of the Lifecycle. */
    readonly startTimeoutMs?: number;
    /** Limit of `preStop` and of `stop` in milliseconds. Default: that of the Lifecycle. */
    readonly stopTimeoutMs?: number;
}

/** Dependencies of a Lifecycle, which logs the start and the stop of each part with its duration. */
export interface LifecycleComponents {
    readonly logger: Logger;
    /** Default: `systemClock`. */
    readonly clock?: Clock;
}

/**
 * Limits of parts that have none of their own. A step that exceeds its limit has failed; its later outcome is ignored.
 */
export interface LifecycleOptions {
    /** Limit of a start in milliseconds. Default 60,000. */
    readonly startTimeoutMs?: number;
    /** Limit of a stop in milliseconds. Default 10,000. */
    readonly stopTimeoutMs?: number;
}

/**
 * State of a Lifecycle; it starts and stops once, in this order. A start that failed ends in `stopped`, as does `stop`
 * without a start.
 */
export type LifecycleState = "new" | "starting" | "started" | "stopping" | "stopped";

interface StopFailure {
    readonly part: string;
    readonly error: unknown;
}

interface Running {
    readonly part: LifecyclePart;
    readonly lifetime: AbortController;
}

/**
 * Starts parts one after the other in the order in which they were appended, and stops them in reverse: first all
 * `preStop`, then all `stop`. Each step has a limit and its duration is logged. If a start fails, the started parts are
 * stopped and `start` rejects. It cannot be started again.
 */
export class Lifecycle {
    readonly #logger: Logger;
    readonly #clock: Clock;
    readonly #options: Required<LifecycleOptions>;
    readonly #parts: LifecyclePart[] = [];
    readonly #running: Running[] = [];
    // Aborts a start in progress when stop is called.
    readonly #abandon = new AbortController();
    #state: LifecycleState = "new";
    #starting: Promise<void> | undefined;
    #stopping: Promise<void> | undefined;

    constructor(components: LifecycleComponents, options: LifecycleOptions = {}) {
        this.#logger = components.logger;
        this.#clock = components.clock ?? systemClock;
        this.#options = {
            startTimeoutMs: options.startTimeoutMs ?? 60_000,
            stopTimeoutMs: options.stopTimeoutMs ?? 10_000,
        };
    }

    /** The current state. */
    get state(): LifecycleState {
        return this.#state;
    }

    /** Names of the parts in their start order, each followed by `PART/ID` for each id that the part includes. */
    get startOrder(): readonly string[] {
        return this.#parts.flatMap(({ name, includes = [] }) => [name, ...includes.map((id) => `${name}/${id}`)]);
    }

    /** Appends a part. Throws RuntimeError `WRONG_STATE` after the start, or `DUPLICATE_NAME`. */
    append(part: LifecyclePart): void {
        if (this.#state !== "new") {
            throw new RuntimeError("WRONG_STATE", "internal", `${part.name} was appended after the start`);
        }
        if (this.#parts.some(({ name }) => name === part.name)) {
            throw new RuntimeError("DUPLICATE_NAME", "internal", `two parts are called ${part.name}`);
        }
        this.#parts.push(part);
    }

    /**
     * Starts all parts. Rejects with RuntimeError `START_FAILED` (the cause is the part's error, or AsyncError
     * `TIMEOUT`), with AsyncError `ABORTED` when the signal aborts or `stop` is called meanwhile, or with RuntimeError
     * `WRONG_STATE` at a second call. The started parts are stopped before it rejects; `stop` reports whether that failed.
     * The signal has no effect after it resolved.
     */
    async start(signal?: AbortSignal): Promise<void> {
        if (this.#state !== "new") {
            throw new RuntimeError("WRONG_STATE", "internal", `start was called in state ${this.#state}`);
        }
        this.#state = "starting";
        const signals = [this.#abandon.signal, ...(signal === undefined ? [] : [signal])];
        this.#starting = this.#startAll(AbortSignal.any(signals));
        try {
            await this.#starting;
        } catch (error) {
            // Failures of the stop are logged there; the error of the start explains them.
            await (this.#stopping ??= this.#stopAll({ startFailed: !isAborted(error) })).catch(() => undefined);
            throw error;
        }
        if (this.#state === "starting") this.#state = "started";
    }

    /**
     * Stops the started parts, all of them even if some fail; then rejects with RuntimeError `STOP_FAILED` if some
     * failed or exceeded their limit. Further calls return the same promise. A start in progress is abandoned first;
     * none is possible afterwards.
     */
    stop(): Promise<void> {
        this.#abandon.abort();
        this.#stopping ??= (this.#starting ?? Promise.resolve())
            .catch(() => undefined)
            .then(() => this.#stopAll({ startFailed: false }));
        return this.#stopping;
    }

    async #startAll(signal: AbortSignal): Promise<void> {
        for (const part of this.#parts) {
            const lifetime = new AbortController();
            const began = this.#clock.monotonic();
            const work = async (limit: AbortSignal): Promise<void> => {
                const onLimit = (): void => lifetime.abort(limit.reason);
                limit.addEventListener("abort", onLimit, { once: true });
                await part.start?.(lifetime.signal);
                limit.removeEventListener("abort", onLimit);
            };
            try {
                await withTimeout(work, part.startTimeoutMs ?? this.#options.startTimeoutMs, signal, {
                    what: `the start of ${part.name}`,
                    clock: this.#clock,
                });
            } catch (error) {
                lifetime.abort(error);
                if (signal.aborted) throw abortedError("the start", signal);
                throw new RuntimeError("START_FAILED", "environment", `${part.name} did not start`, {
                    cause: error,
                    details: { part: part.name },
                });
            }
            this.#running.push({ part, lifetime });
            this.#logger.info("started", { part: part.name, seconds: this.#secondsSince(began) });
        }
    }

    async #stopAll(o: { readonly startFailed: boolean }): Promise<void> {
        this.#state = "stopping";
        const failures: StopFailure[] = [];
        const running = this.#running.splice(0).reverse();
        for (const { part } of running) {
            if (part.preStop !== undefined) await this.#end(part, "preStop", () => part.preStop?.(), failures);
        }
        for (const { part, lifetime } of running) {
            lifetime.abort(new AsyncError("ABORTED", "aborted", `${part.name} is being stopped`));
            await this.#end(part, "stop", () => part.stop?.(o), failures);
        }
        this.#state = "stopped";
        if (failures.length === 0) return;
        const texts = failures.map(({ part, error }) => `${part} (${messageOf(error)})`);
        throw new RuntimeError("STOP_FAILED", "internal", `did not stop: ${texts.join(", ")}`, {
            cause: failures[0]?.error,
            details: { failures },
        });
    }

    async #end(
        part: LifecyclePart,
        hook: "preStop" | "stop",
        run: () => Promise<void> | void,
        failures: StopFailure[],
    ): Promise<void> {
        const began = this.#clock.monotonic();
        const limitMs = part.stopTimeoutMs ?? this.#options.stopTimeoutMs;
        const fields = (): { part: string; seconds: number } => ({
            part: part.name,
            seconds: this.#secondsSince(began),
        });
        try {
            await withTimeout(async () => run(), limitMs, undefined, {
                what: `the ${hook} of ${part.name}`,
                clock: this.#clock,
            });
            this.#logger.info(hook === "stop" ? "stopped" : "ready to stop", fields());
        } catch (error) {
            failures.push({ part: part.name, error });
            this.#logger.error(hook === "stop" ? "did not stop" : "is not ready to stop", { ...fields(), error });
        }
    }

    #secondsSince(began: number): number {
        return Math.round(this.#clock.monotonic() - began) / 1000;
    }
}
