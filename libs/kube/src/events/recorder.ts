import { Notify, sleep, systemClock, type Clock } from "@antrea/async";
import { type ApiClient } from "../api/client.ts";
import { apiVersionOf, events, type Resource } from "../api/resources.ts";
import { type KubeEvent, type KubeObject } from "../api/types.ts";
import { isKubeError } from "../errors.ts";
import { microTime } from "../micro-time.ts";
import { type KubeLogger } from "../logger.ts";

export interface ObjectReference {
    readonly apiVersion: string;
    readonly kind: string;
    readonly name: string;
    readonly namespace?: string;
    readonly uid?: string;
}

export interface EventInput {
    /** What the event is about; `referenceTo` makes one. */
    readonly regarding: ObjectReference;
    readonly related?: ObjectReference;
    readonly type: "Normal" | "Warning";
    /** Why, one UpperCamelCase word: `CIDRNotAvailable`. At most 128 characters. */
    readonly reason: string;
    /** What was done or tried, UpperCamelCase: `AllocatePodCIDR`. At most 128 characters. */
    readonly action: string;
    /** For people; cut at 1024 bytes. */
    readonly note: string;
}

export interface EventRecorderOptions {
    /** Name of the program: `antrea-controller`. */
    readonly reportingController: string;
    /** Which instance of it: the Pod's name. */
    readonly reportingInstance: string;
    /** Events that wait to be sent; more are dropped and counted. Default 1000. */
    readonly maxQueued?: number;
    /** Equal events within this time after the last one are counted in a series. Default 6 min. */
    readonly seriesWindowMs?: number;
    /** A growing series is written at most this often. Default 30 s. */
    readonly seriesWriteMs?: number;
    /** How long the first of some events waits, so as not to compete with the work it tells of. Default 0. */
    readonly delayMs?: number;
}

export interface EventRecorderComponents {
    readonly api: Pick<ApiClient, "create" | "patch">;
    readonly logger: KubeLogger;
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
 * Records events (events.k8s.io/v1). `record` never waits and never fails: events are sent one after the other in the
 * background, equal ones become one event with a series, and what the queue cannot hold is dropped and counted.
 */
export class EventRecorder implements AsyncDisposable {
    readonly #components: EventRecorderComponents;
    readonly #clock: Clock;
    readonly #options: EventRecorderOptions;
    readonly #series = new Map<string, Series>();
    readonly #queue = new Set<Series>();
    readonly #stop = new AbortController();
    readonly #bell: Notify;
    #run: Promise<void> | undefined;
    #dropped = 0;

    constructor(components: EventRecorderComponents, options: EventRecorderOptions) {
        this.#components = components;
        this.#clock = components.clock ?? systemClock;
        this.#bell = new Notify({ clock: this.#clock });
        this.#options = options;
    }

    /** Events that were never sent because the queue was full or the server refused them. */
    get dropped(): number {
        return this.#dropped;
    }

    /** Sends in the background until the signal aborts or `close()`. */
    start(signal: AbortSignal): void {
        this.#run ??= this.#loop(AbortSignal.any([signal, this.#stop.signal]));
    }

    record(input: EventInput): void {
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
        this.#bell.ring();
    }

    /** Sends what waits, for at most `timeoutMs` (default 2 s), and ends. */
    async close(timeoutMs = 2_000): Promise<void> {
        this.#stop.abort();
        await this.#run;
        const signal = AbortSignal.timeout(timeoutMs);
        for (const series of this.#series.values()) {
            if (series.count > series.writtenCount) this.#queue.add(series);
        }
        while (this.#queue.size > 0 && !signal.aborted) await this.#sendNext(signal);
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
            this.#bell.clear();
            // In slices of the writing period, so that series that grew are found without a timer each.
            await this.#bell.wait({ ms: seriesWriteMs, signal });
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
            // Refused for what it is, or its namespace is gone: sending it again gives the same answer.
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
                // The event ran out of its time to live on the server: the series begins anew.
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

/** How an event names an object. */
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
