import { Backoff, sleep, systemClock, type Clock } from "@antrea/async";
import { KubeError, isKubeError } from "../errors.ts";
import { type ApiClient } from "../api/client.ts";
import { splitLines } from "../api/lines.ts";
import { type Resource } from "../api/resources.ts";
import { keyOf, type KubeObject } from "../api/types.ts";
import { type KubeLogger } from "../logger.ts";
import { Store, type ChangeListener, type ChangeSource } from "./store.ts";
import { decodeWatchEvent, type WatchEvent } from "./watch-events.ts";

export interface InformerComponents {
    readonly api: Pick<ApiClient, "list" | "watch">;
    readonly logger: KubeLogger;
    readonly clock?: Clock;
}

export interface InformerOptions<T extends KubeObject> {
    readonly resource: Resource<T>;
    /** Only this namespace. Default all. */
    readonly namespace?: string | undefined;
    /** `spec.nodeName=worker-1`. Default none. */
    readonly fieldSelector?: string | undefined;
    readonly labelSelector?: string | undefined;
    /** What is kept of an object, to save memory. Name, UID and version must stay. Default: all but managedFields. */
    readonly transform?: ((object: T) => T) | undefined;
    /** No line for this long (bookmarks come about every minute) means that the connection is dead. Default 80 to 120 s. */
    readonly idleTimeoutMs?: number | undefined;
    /** A longer line is an error. Default 16 MiB. */
    readonly maxLineBytes?: number | undefined;
    /** Delay after the first failure, doubled up to `maxBackoffMs`. Defaults 200 ms and 15 s. */
    readonly initialBackoffMs?: number | undefined;
    readonly maxBackoffMs?: number | undefined;
    readonly pageSize?: number | undefined;
}

/**
 * What the informer is doing. `watching`: the API server has answered the watch. `lastError` explains `waiting`, which it
 * is until the next list begins or the next watch is answered.
 */
export type InformerState =
    | { readonly kind: "idle" }
    | { readonly kind: "listing" }
    | { readonly kind: "watching" }
    | { readonly kind: "waiting"; readonly lastError: KubeError; readonly sinceMs: number }
    | { readonly kind: "stopped" };

// After so long without a line of a watch, what comes then may be old: the server tells later what it had to tell meanwhile.
const quietLimitMs = 45_000;
// Within this time the server has told it all.
const catchUpMs = 30_000;
// After a restart of an API server the agents of a cluster resume their watches together: so they do not list together.
const idleDefaultMs = { least: 80_000, spread: 40_000 };
// The API server has no bookmarks of a resource of which it has seen no event since its start: such a watch is silent, and
// right. So one list that shows nothing else is enough for so long, unless something comes or the connection breaks.
const unchangedMs = 600_000;
// A connection that lived this long was good: the next failure starts with the shortest delay again.
const stableMs = 10_000;

/** @param began of the list, by the monotonic clock of the informer: what was there then and is not known is gone */
export type ListListener = (began: number) => void;

/**
 * A copy of one kind of objects, kept true by list and watch. It survives everything: lost connections are resumed from
 * the last version; an expired version, garbage, a watch that never says anything or a server that lost its past lead to a
 * new list whose difference is told as changes. While the server is away, the last known state stays.
 */
export class Informer<T extends KubeObject> implements AsyncDisposable {
    readonly #components: InformerComponents;
    readonly #clock: Clock;
    readonly #options: InformerOptions<T>;
    readonly #store: Store<T>;
    readonly #backoff: Backoff;
    readonly #synced = Promise.withResolvers<void>();
    readonly #stop = new AbortController();
    /** Ends the watch or the pause that is under way. */
    #interruption = new AbortController();
    /** Those who want a list that begins from now on. */
    #refreshing: PromiseWithResolvers<void> | undefined;
    #state: InformerState = { kind: "idle" };
    #hasSynced = false;
    #version = "";
    /** By the monotonic clock, when the last line of a watch came, or the last list began. */
    #heardAt = -Infinity;
    /** The last time in which too long nothing was heard. */
    #quiet = { from: -Infinity, to: -Infinity };
    /** The last watch said nothing after it was resumed, so what it was resumed from is in doubt. */
    #isDoubted = false;
    /** By the monotonic clock, when a list for that began that showed no change; watches have been silent since. */
    #unchangedAt = -Infinity;
    readonly #listListeners = new Set<ListListener>();
    #run: Promise<void> | undefined;

    constructor(components: InformerComponents, options: InformerOptions<T>) {
        this.#components = components;
        this.#clock = components.clock ?? systemClock;
        this.#options = options;
        this.#store = new Store(components);
        this.#backoff = new Backoff({
            initialMs: options.initialBackoffMs ?? 200,
            maxMs: options.maxBackoffMs ?? 15_000,
        });
        this.#synced.promise.catch(() => undefined);
    }

    get state(): InformerState {
        return this.#state;
    }

    get hasSynced(): boolean {
        return this.#hasSynced;
    }

    /**
     * By the monotonic clock: what happened before this is known. What comes right after a silence may be as old as that.
     * -Infinity before the first list.
     */
    get upToDateAt(): number {
        return this.#heardAt - this.#quiet.to < catchUpMs ? this.#quiet.from : this.#heardAt;
    }

    /** Starts in the background, once; ends with the signal or `close()`. */
    start(signal: AbortSignal): void {
        this.#run ??= this.#loop(AbortSignal.any([signal, this.#stop.signal]));
    }

    /** Resolves when the first list is in; rejects with ABORTED if signal or informer end before. */
    async synced(signal?: AbortSignal): Promise<void> {
        return this.#orAborted(this.#synced.promise, signal);
    }

    /**
     * Lists anew, whatever the watch tells: resolves when all that was true at the call is known. For what must not be
     * decided by a watch that may be late. Rejects with ABORTED if signal or informer end before.
     */
    async refresh(signal?: AbortSignal): Promise<void> {
        if (this.#refreshing === undefined) {
            this.#refreshing = Promise.withResolvers();
            this.#refreshing.promise.catch(() => undefined);
            this.#interruption.abort();
        }
        if (this.#stop.signal.aborted || this.#state.kind === "stopped") this.#refreshing.reject(this.#stopped());
        return this.#orAborted(this.#refreshing.promise, signal);
    }

    /** By `namespace/name`, or `name` of a cluster-scoped object. */
    get(key: string): T | undefined {
        return this.#store.objects.get(key);
    }

    list(): readonly T[] {
        return [...this.#store.objects.values()];
    }

    /** Tells all known objects as "added" at once, then each change. Disposal ends it. */
    onChange(listener: ChangeListener<T>): Disposable {
        return this.#store.listen(listener);
    }

    /** Called after each list, when the changes that it showed are told. Disposal ends it. */
    onList(listener: ListListener): Disposable {
        this.#listListeners.add(listener);
        return { [Symbol.dispose]: () => this.#listListeners.delete(listener) };
    }

    /** Ends the background work; the known objects stay readable. */
    async close(): Promise<void> {
        this.#stop.abort();
        await this.#run;
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.close();
    }

    async #orAborted(wanted: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
        if (signal === undefined) return wanted;
        const aborted = Promise.withResolvers<never>();
        const abort = (): void => aborted.reject(new KubeError("ABORTED", `waiting for ${this.#what} was aborted`));
        if (signal.aborted) abort();
        signal.addEventListener("abort", abort, { once: true });
        try {
            await Promise.race([wanted, aborted.promise]);
        } finally {
            signal.removeEventListener("abort", abort);
        }
    }

    #stopped(): KubeError {
        return new KubeError("ABORTED", `the informer of ${this.#what} was stopped`);
    }

    get #what(): string {
        return this.#options.resource.plural;
    }

    async #loop(signal: AbortSignal): Promise<void> {
        while (!signal.aborted) {
            const began = this.#clock.monotonic();
            this.#interruption = new AbortController();
            const interrupted = this.#interruption.signal;
            const turn = AbortSignal.any([signal, interrupted]);
            try {
                const isResumed = this.#version !== "" && this.#refreshing === undefined;
                if (!isResumed) await this.#relist(signal);
                if (interrupted.aborted) continue;
                await this.#watch(turn, isResumed);
                if (this.#clock.monotonic() - began > stableMs) this.#backoff.reset();
                // A server that closes each watch at once must not be asked in a tight loop.
                else await sleep(this.#backoff.next(), turn, this.#clock);
            } catch (error) {
                if (signal.aborted || interrupted.aborted) continue;
                if (this.#clock.monotonic() - began > stableMs) this.#backoff.reset();
                await this.#failed(error, turn);
            }
        }
        this.#state = { kind: "stopped" };
        this.#synced.reject(this.#stopped());
        this.#refreshing?.reject(this.#stopped());
    }

    async #failed(error: unknown, signal: AbortSignal): Promise<void> {
        const known =
            error instanceof KubeError
                ? error
                : new KubeError("CONNECTION_FAILED", `${this.#what}: the watch broke`, { cause: error });
        if (needsRelist(known)) this.#version = "";
        const delayMs = Math.max(this.#backoff.next(), known.retryAfterMs ?? 0);
        // A lost version is everyday life of a long watch; so is the first broken connection.
        const level = isKubeError(known, "EXPIRED") || this.#backoff.tries <= 1 ? "info" : "warn";
        this.#components.logger[level]("list and watch failed, trying again", {
            resource: this.#what,
            code: known.code,
            error: known,
            delayMs: Math.round(delayMs),
        });
        this.#state = { kind: "waiting", lastError: known, sinceMs: this.#clock.now() };
        await sleep(delayMs, signal, this.#clock).catch(() => undefined);
    }

    async #relist(signal: AbortSignal): Promise<void> {
        this.#state = { kind: "listing" };
        const { resource, namespace, fieldSelector, labelSelector, pageSize } = this.#options;
        const query = { namespace, fieldSelector, labelSelector, pageSize, signal };
        // Who asks for a list from now on gets the next.
        const refreshing = this.#refreshing;
        this.#refreshing = undefined;
        try {
            const began = this.#clock.monotonic();
            const result = await this.#components.api.list(resource, query);
            const source: ChangeSource = { by: "list", after: this.upToDateAt };
            const hasChanged = this.#store.replace(
                result.items.map((item) => this.#keep(item)),
                source,
            );
            if (this.#isDoubted) this.#unchangedAt = hasChanged ? -Infinity : began;
            this.#isDoubted = false;
            this.#heardAt = began;
            this.#quiet = { from: -Infinity, to: -Infinity };
            this.#version = result.resourceVersion;
            for (const listener of this.#listListeners) listener(began);
        } catch (error) {
            this.#askAgain(refreshing);
            throw error;
        }
        this.#hasSynced = true;
        this.#synced.resolve();
        refreshing?.resolve();
    }

    #askAgain(refreshing: PromiseWithResolvers<void> | undefined): void {
        if (refreshing === undefined) return;
        if (this.#refreshing === undefined) this.#refreshing = refreshing;
        else this.#refreshing.promise.then(refreshing.resolve, refreshing.reject);
    }

    async #watch(signal: AbortSignal, isResumed: boolean): Promise<void> {
        const { resource, namespace, fieldSelector, labelSelector } = this.#options;
        const { least, spread } = idleDefaultMs;
        const idleMs = this.#options.idleTimeoutMs ?? least + Math.floor(Math.random() * spread);
        const idle = new AbortController();
        let timer: NodeJS.Timeout | undefined;
        const touch = (): void => {
            clearTimeout(timer);
            timer = setTimeout(() => idle.abort(), idleMs);
        };
        touch();
        const what = `watch of ${this.#what}`;
        let isSilent = false;
        try {
            const response = await this.#components.api.watch(resource, {
                namespace,
                fieldSelector,
                labelSelector,
                resourceVersion: this.#version,
                // Spread, so that not all watches of a cluster are opened again in the same second.
                timeoutSeconds: 300 + Math.floor(Math.random() * 300),
                signal: AbortSignal.any([signal, idle.signal]),
            });
            this.#state = { kind: "watching" };
            isSilent = true;
            touch();
            for await (const line of splitLines(response, this.#options.maxLineBytes ?? 16 << 20)) {
                touch();
                isSilent = false;
                // An answer that the version is forgotten says nothing of what there is.
                const event = line.trim() === "" ? undefined : decodeWatchEvent<T>(line, what);
                this.#heard();
                if (event !== undefined) this.#apply(event);
            }
            isSilent = false;
        } catch (cause) {
            const isIdle = idle.signal.aborted && !signal.aborted;
            // That this informer gave it up says nothing of the server.
            isSilent &&= isIdle || signal.aborted;
            if (!isIdle) throw cause;
            // Not even a bookmark came: the version may be one of a future that the server does not have any more, as after
            // etcd was restored from a backup. It says nothing then until its versions have come so far again.
            this.#isDoubted = isSilent && isResumed && this.#clock.monotonic() - this.#unchangedAt >= unchangedMs;
            if (this.#isDoubted) this.#version = "";
            throw new KubeError("TIMEOUT", `${what}: nothing came for ${idleMs} ms, the connection is dead`, { cause });
        } finally {
            clearTimeout(timer);
            if (!isSilent) this.#unchangedAt = -Infinity;
        }
    }

    #heard(): void {
        const now = this.#clock.monotonic();
        if (now - this.#heardAt > quietLimitMs) this.#quiet = { from: this.#heardAt, to: now };
        this.#heardAt = now;
    }

    #apply(event: WatchEvent<T>): void {
        const source: ChangeSource = { by: "watch", after: this.upToDateAt };
        switch (event.type) {
            case "ADDED":
            case "MODIFIED":
                this.#store.set(this.#keep(event.object), source);
                break;
            case "DELETED":
                this.#store.remove(keyOf(event.object), source, this.#keep(event.object));
                break;
            case "BOOKMARK":
                break;
        }
        this.#version = event.resourceVersion;
    }

    #keep(object: T): T {
        return (this.#options.transform ?? withoutManagedFields)(object);
    }
}

/** The default of `transform`: managed fields are a third of an object and of no use to a reader. */
export function withoutManagedFields<T extends KubeObject>(object: T): T {
    if (object.metadata?.managedFields === undefined) return object;
    const { managedFields: _, ...metadata } = object.metadata;
    return { ...object, metadata };
}

// After these the last version is of no use; after all others the watch goes on from it.
function needsRelist(error: KubeError): boolean {
    switch (error.code) {
        case "EXPIRED":
        case "BAD_ANSWER":
        case "TOO_LARGE":
        case "BAD_REQUEST":
        case "INVALID":
        case "NOT_FOUND":
            return true;
        case "SERVER_TIMEOUT":
            // "Too large resource version": the server's past was replaced by an older one.
            return JSON.stringify(error.details.causes ?? "").includes("ResourceVersionTooLarge");
        default:
            return false;
    }
}
