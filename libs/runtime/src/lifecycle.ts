import { AsyncError, type Clock, systemClock, abortedError, withTimeout } from "@antrea/async";
import { messageOf } from "@antrea/errors";
import { RuntimeError } from "./errors.ts";
import { type Logger } from "./logger.ts";

/** Something that is started and stopped with the process. */
export interface LifecyclePart {
    /** The module id. */
    readonly name: string;
    /**
     * Resolves when the part does its work, rejects when it cannot; a start that rejects leaves nothing behind, for
     * `stop` is not called then. The signal lives as long as the part: it aborts when the start is given up, and right
     * before `stop`. So hand it to what runs in the background, but not to work that `stop` shall let end.
     */
    start?(signal: AbortSignal): Promise<void> | void;
    /**
     * Runs before any part is stopped, while all that started still works: for work that must end first, such as calls under
     * way. Of several, that of the part that started last runs first. Has the limit of `stop`, which follows also when it
     * fails. Called at most once, and only after a start that succeeded.
     */
    preStop?(): Promise<void> | void;
    /** Resolves when nothing of the part runs any more. Called at most once, and only after a start that succeeded. */
    stop?(): Promise<void> | void;
    /** The limit of `start` in milliseconds. Default: that of the Lifecycle. */
    readonly startTimeoutMs?: number;
    /** The limit of `stop` in milliseconds. Default: that of the Lifecycle. */
    readonly stopTimeoutMs?: number;
}

export interface LifecycleComponents {
    readonly logger: Logger;
    /** Default: the clock of the machine. */
    readonly clock?: Clock;
}

export interface LifecycleOptions {
    /** Default 60,000. */
    readonly startTimeoutMs?: number;
    /** Default 10,000. */
    readonly stopTimeoutMs?: number;
}

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
 * Starts parts in the order they were appended, one after the other, and stops them in reverse. Each has a limit, and
 * how long it took is logged. When a start fails, the parts that had started are stopped and `start` rejects.
 */
export class Lifecycle {
    readonly #logger: Logger;
    readonly #clock: Clock;
    readonly #options: Required<LifecycleOptions>;
    readonly #parts: LifecyclePart[] = [];
    readonly #running: Running[] = [];
    // Aborts a start that is under way when stop is called.
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

    get state(): LifecycleState {
        return this.#state;
    }

    /** The names of the parts, in the order in which they start. */
    get startOrder(): readonly string[] {
        return this.#parts.map(({ name }) => name);
    }

    /** Adds a part at the end. Throws RuntimeError `WRONG_STATE` once started, `DUPLICATE_NAME` for a name twice. */
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
     * Rejects with RuntimeError `START_FAILED` (the cause is the part's error) or `ABORTED` when the signal aborts or
     * `stop` is called meanwhile; everything is stopped then.
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
            // What stopping lacks is logged there; the error of the start is the one that explains.
            await (this.#stopping ?? this.#stopAll()).catch(() => undefined);
            throw error;
        }
        if (this.#state === "starting") this.#state = "started";
    }

    /**
     * Stops what was started. Always goes through all parts; rejects after that with RuntimeError `STOP_FAILED` when
     * some failed or exceeded their limit. Further calls give the same promise. During a start it abandons it first.
     */
    stop(): Promise<void> {
        this.#abandon.abort();
        this.#stopping ??= (this.#starting ?? Promise.resolve()).catch(() => undefined).then(() => this.#stopAll());
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

    async #stopAll(): Promise<void> {
        this.#state = "stopping";
        const failures: StopFailure[] = [];
        const running = this.#running.splice(0).reverse();
        for (const { part } of running) {
            if (part.preStop !== undefined) await this.#end(part, "preStop", failures);
        }
        for (const { part, lifetime } of running) {
            lifetime.abort(new AsyncError("ABORTED", "aborted", `${part.name} is being stopped`));
            await this.#end(part, "stop", failures);
        }
        this.#state = "stopped";
        if (failures.length === 0) return;
        const texts = failures.map(({ part, error }) => `${part} (${messageOf(error)})`);
        throw new RuntimeError("STOP_FAILED", "internal", `did not stop: ${texts.join(", ")}`, {
            cause: failures[0]?.error,
            details: { failures },
        });
    }

    async #end(part: LifecyclePart, hook: "preStop" | "stop", failures: StopFailure[]): Promise<void> {
        const began = this.#clock.monotonic();
        const limitMs = part.stopTimeoutMs ?? this.#options.stopTimeoutMs;
        const fields = (): { part: string; seconds: number } => ({
            part: part.name,
            seconds: this.#secondsSince(began),
        });
        try {
            await withTimeout(async () => part[hook]?.(), limitMs, undefined, {
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
