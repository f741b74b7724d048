import { Notify, sleep, systemClock, type Clock } from "@antrea/async";
import { type ApiClient } from "../api/client.ts";
import { apiVersionOf, events, type Resource } from "../api/resources.ts";
import { type KubeEvent, type KubeObject } from "../api/types.ts";
import { isKubeError } from "../errors.ts";
import { microTime } from "../micro-time.ts";
import { type KubeLogger } from "../logger.ts";

/** The object reference in an event (core/v1 ObjectReference). */
export interface ObjectReference {
    readonly apiVersion: string;
    readonly kind: string;
    readonly name: string;
    readonly namespace?: string;
    readonly uid?: string;
}

/** An event to record (events.k8s.io/v1): what happened to an object, and what the program did about it. */
export interface EventInput {
    /** The object that the event concerns; see `referenceTo`. */
    readonly regarding: ObjectReference;
    /** A second object that it concerns. */
    readonly related?: ObjectReference;
    readonly type: "Normal" | "Warning";
    /** Reason, one UpperCamelCase word: `CIDRNotAvailable`. Truncated to 128 characters. */
    readonly reason: string;
    /** Action that was taken or failed, UpperCamelCase: `AllocatePodCIDR`. Truncated to 128 characters. */
    readonly action: string;
    /** Text for the user; truncated to 1024 bytes. */
    readonly note: string;
}

/** Options of EventRecorder. All times are in milliseconds. */
export interface EventRecorderOptions {
    /** Name of the program: `antrea-controller`. */
    readonly reportingController: string;
    /** Name of its instance: the Pod's name. */
    readonly reportingInstance: string;
    /** Limit of events that wait to be sent; further ones are dropped and counted. Default 1000. */
    readonly maxQueued?: number;
    /** An event equal to one recorded at most this long before is counted in its series. Default 360,000. */
    readonly seriesWindowMs?: number;
    /** Shortest interval between writes of a growing series. Default 30,000. */
    readonly seriesWriteMs?: number;
    /**
     * Delay before the first of several waiting events is sent, so that it does not compete with the work it reports.
     * Default 0.
     */
    readonly delayMs?: number;
}

/** Dependencies of EventRecorder; `api` needs permission to create and patch events.k8s.io/v1 events. */
export interface EventRecorderComponents {
    readonly api: Pick<ApiClient, "create" | "patch">;
    readonly logger: KubeLogger;
    /** Default: `systemClock`. */
    readonly clock?: Clock;
}

interface Series {
    readonly input: EventInput;
    /** Set once the event exists. */
    name: string | undefined;
    count: number;
    writtenCount: number;
    writtenAt: number;
    lastAt: number;
}

const maxSeries = 4_096;

/**
 * Records Kubernetes events (events.k8s.io/v1) in the Namespace of their object, `default` for cluster-scoped ones.
 * `record` neither waits nor fails: from `start` on, events are sent one by one in the background, equal ones as one
 * event with a series; those beyond the queue's limit or rejected by the server are dropped and counted, the latter
 * also logged. The owner calls `close`, which sends what waits.
 */
export class EventRecorder implements AsyncDisposable {
    readonly #components: EventRecorderComponents;
    readonly #clock: Clock;
    readonly #options: EventRecorderOptions;
    readonly #series = new Map<string, Series>();
    readonly #queue = new Set<Series>();
    readonly #stop = new AbortController();
    readonly #changed: Notify;
    #run: Promise<void> | undefined;
    #isClosed = false;
    #dropped = 0;

    constructor(components: EventRecorderComponents, options: EventRecorderOptions) {
        this.#components = components;
        this.#clock = components.clock ?? systemClock;
        this.#changed = new Notify({ clock: this.#clock });
        this.#options = options;
    }

    /**
     * Number of events that were not sent: the queue was full, the server rejected them, or the recorder was closed.
     */
    get dropped(): number {
        return this.#dropped;
    }

    /**
     * Sends events in the background until the signal aborts or `close` is called; only `close` sends what waits then.
     * A second call has no effect.
     */
    start(signal: AbortSignal): void {
        this.#run ??= this.#loop(AbortSignal.any([signal, this.#stop.signal]));
    }

    /**
     * Queues an event, or counts it in the series of an equal one (same object, type, reason, action and note). After
     * `close` it is dropped.
     */
    record(input: EventInput): void {
        if (this.#isClosed) {
            this.#dropped += 1;
            return;
        }
        const now = this.#clock.monotonic();
        const key = seriesKey(input);
        const windowMs = this.#options.seriesWindowMs ?? 360_000;
        const known = this.#series.get(key);
        if (known !== undefined && now - known.lastAt <= windowMs) {
            known.count += 1;
            known.lastAt = now;
            return;
        }
        if (this.#queue.size >= (this.#options.maxQueued ?? 1_000)) {
            this.#dropped += 1;
            return;
        }
        const series = { input, name: undefined, count: 1, writtenCount: 0, writtenAt: now, lastAt: now };
        this.#series.set(key, series);
        if (this.#series.size > maxSeries) this.#series.delete(this.#series.keys().next().value ?? "");
        this.#queue.add(series);
        this.#changed.notify();
    }

    /**
     * Stops the background work and sends the waiting events, for at most `timeoutMs` milliseconds (default 2000);
     * counts the rest as dropped. Never rejects; may be called without `start`.
     */
    async close(timeoutMs = 2_000): Promise<void> {
        this.#stop.abort();
        await this.#run;
        const signal = AbortSignal.timeout(timeoutMs);
        for (const series of this.#series.values()) {
            if (series.count > series.writtenCount) this.#queue.add(series);
        }
        while (this.#queue.size > 0 && !signal.aborted) await this.#sendNext(signal);
        this.#isClosed = true;
        this.#dropped += this.#queue.size;
        this.#queue.clear();
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.close();
    }

    async #loop(signal: AbortSignal): Promise<void> {
        while (!signal.aborted) {
            await this.#sendNext(signal);
            if (this.#queue.size > 0 || signal.aborted) continue;
            const seriesWriteMs = this.#options.seriesWriteMs ?? 30_000;
            this.#changed.clear();
            // Waits for the write interval, so that series that grew are found without a timer each.
            await this.#changed.wait({ ms: seriesWriteMs, signal });
            await this.#delay(signal);
            this.#queueGrown(seriesWriteMs);
        }
    }

    async #delay(signal: AbortSignal): Promise<void> {
        const { delayMs = 0 } = this.#options;
        if (delayMs > 0 && this.#queue.size > 0) await sleep(delayMs, signal, this.#clock).catch(() => undefined);
    }

    #queueGrown(seriesWriteMs: number): void {
        const now = this.#clock.monotonic();
        const windowMs = this.#options.seriesWindowMs ?? 360_000;
        for (const [key, series] of this.#series) {
            const grown = series.count > series.writtenCount && !this.#queue.has(series);
            if (grown && now - series.writtenAt >= seriesWriteMs) this.#queue.add(series);
            else if (!grown && now - series.lastAt > windowMs) this.#series.delete(key);
        }
    }

    async #sendNext(signal: AbortSignal): Promise<void> {
        const series = this.#queue.values().next().value;
        if (series === undefined) return;
        try {
            await this.#send(series, signal);
            this.#queue.delete(series);
        } catch (error) {
            if (signal.aborted) return;
            const transient = isKubeError(
                error,
                "CONNECTION_FAILED",
                "TIMEOUT",
                "UNAVAILABLE",
                "SERVER_TIMEOUT",
                "TOO_MANY_REQUESTS",
                "SERVER_ERROR",
            );
            if (transient) {
                await sleep(2_000, signal, this.#clock).catch(() => undefined);
                return;
            }
            // Rejected for its content, or its namespace is gone: another try gets the same answer.
            this.#queue.delete(series);
            this.#series.delete(seriesKey(series.input));
            this.#dropped += 1;
            this.#components.logger.warn("event rejected by the API server", {
                reason: series.input.reason,
                error,
            });
        }
    }

    async #send(series: Series, signal: AbortSignal): Promise<void> {
        const { api } = this.#components;
        const namespace = series.input.regarding.namespace ?? "default";
        const { count } = series;
        const o = { signal, timeoutMs: 10_000 };
        if (series.name === undefined) {
            const name = eventName(series.input.regarding.name);
            await api.create(events, this.#event(series.input, namespace, name), o);
            series.name = name;
            series.writtenCount = 1;
        } else {
            const lastObservedTime = microTime(this.#clock.now() - (this.#clock.monotonic() - series.lastAt));
            const body = { series: { count, lastObservedTime } };
            try {
                await api.patch(events, { namespace, name: series.name }, { type: "merge", body }, o);
                series.writtenCount = count;
            } catch (error) {
                if (!isKubeError(error, "NOT_FOUND")) throw error;
                // The event exceeded its time to live on the server: the series starts again.
                series.name = undefined;
                await this.#send(series, signal);
            }
        }
        series.writtenAt = this.#clock.monotonic();
    }

    #event(input: EventInput, namespace: string, name: string): KubeEvent {
        const { reportingController, reportingInstance } = this.#options;
        return {
            metadata: { namespace, name },
            eventTime: microTime(this.#clock.now()),
            reportingController,
            reportingInstance: reportingInstance.slice(0, 128),
            type: input.type,
            reason: input.reason.slice(0, 128),
            action: input.action.slice(0, 128),
            note: cut(input.note, 1024),
            regarding: input.regarding,
            ...(input.related === undefined ? {} : { related: input.related }),
        };
    }
}

/** Returns the reference to an object (kind, name, namespace, UID) for an event, such as its `regarding`. */
export function referenceTo<T extends KubeObject>(resource: Resource<T>, object: T): ObjectReference {
    const { name = "", namespace, uid } = object.metadata ?? {};
    return {
        apiVersion: apiVersionOf(resource),
        kind: resource.kind,
        name,
        ...(namespace === undefined ? {} : { namespace }),
        ...(uid === undefined ? {} : { uid }),
    };
}

function seriesKey(input: EventInput): string {
    const { regarding, type, reason, action, note } = input;
    return JSON.stringify([
        regarding.kind,
        regarding.namespace,
        regarding.name,
        regarding.uid,
        type,
        reason,
        action,
        note,
    ]);
}

function eventName(regarding: string): string {
    const unique = crypto.randomUUID().replaceAll("-", "").slice(0, 16);
    // A label ends with a letter or digit, also where a long name is cut.
    const head = regarding.slice(0, 253 - unique.length - 1).replace(/[.-]+$/, "");
    return `${head}.${unique}`;
}

function cut(text: string, maxBytes: number): string {
    const bytes = Buffer.from(text);
    if (bytes.length <= maxBytes) return text;
    return `${bytes
        .subarray(0, maxBytes - 6)
        .toString("utf8")
        .replace(/\uFFFD+$/, "")}…`;
}
