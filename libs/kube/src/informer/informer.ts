import { Backoff, orAborted, sleep, systemClock, type Clock } from "@antrea/async";
import { isKubeError, KubeError } from "../errors.ts";
import { splitLines } from "../api/lines.ts";
import { type KubeObject } from "../api/types.ts";
import { keyOf } from "../api/object-key.ts";
import { Store, type ChangeListener, type ChangeSource } from "./store.ts";
import { type InformerComponents, type InformerOptions, type InformerState, type ListListener } from "./types.ts";
import { decodeWatchEvent, type WatchEvent } from "./watch-events.ts";

// After this time without a line of the watch, the next events may be old: the server sends what it held back.
const quietLimitMs = 45_000;
// Within this time the server has sent all of that.
const catchUpMs = 30_000;
// After a restart of an API server all agents resume their watches together; they must not list together.
const idleDefaultMs = { least: 80_000, spread: 40_000 };
// The API server sends no bookmarks of a resource of which it has seen no event since its start: such a watch is silent
// and valid. So one list that shows no difference is enough for this time, unless an event arrives or the connection
// breaks.
const unchangedMs = 600_000;
// After a connection that lasted this long, the next failure starts with the shortest delay again.
const stableMs = 10_000;

/**
 * A local copy of the objects of one kind, kept current by list and watch from `start` to `close`. A broken connection
 * is resumed from the last resourceVersion; an expired version, an invalid answer, a silent watch or a server restored
 * from a backup cause a new list, whose difference is reported as changes. While the server is not reachable, the last
 * known state remains; failures are logged and retried.
 */
export class Informer<T extends KubeObject> implements AsyncDisposable {
    readonly #components: InformerComponents;
    readonly #clock: Clock;
    readonly #options: InformerOptions<T>;
    readonly #store: Store<T>;
    readonly #backoff: Backoff;
    readonly #synced = Promise.withResolvers<void>();
    readonly #stop = new AbortController();
    /** Ends the current watch or pause. */
    #interruption = new AbortController();
    /** Pending calls of `refresh`, which need a list that begins from now on. */
    #refreshing: PromiseWithResolvers<void> | undefined;
    #state: InformerState = { kind: "idle" };
    #hasSynced = false;
    #version = "";
    /** Monotonic time at which the last line of a watch arrived, or the last list began. */
    #heardAt = -Infinity;
    /** The last period of silence that was too long. */
    #quiet = { from: -Infinity, to: -Infinity };
    /** The last watch was silent after it was resumed, so its resourceVersion is in doubt. */
    #isDoubted = false;
    /** Monotonic time at which a list for that doubt began and showed no change; watches have been silent since. */
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

    /** The current state of the informer. */
    get state(): InformerState {
        return this.#state;
    }

    /** True once the first list was complete. */
    get hasSynced(): boolean {
        return this.#hasSynced;
    }

    /**
     * Monotonic time (ms): all that happened before it is known. Events right after a silence may be as old as that
     * silence. -Infinity before the first list.
     */
    get upToDateAt(): number {
        return this.#heardAt - this.#quiet.to < catchUpMs ? this.#quiet.from : this.#heardAt;
    }

    /** Starts the informer in the background, once; it ends when the signal aborts or `close` is called. */
    start(signal: AbortSignal): void {
        this.#run ??= this.#loop(AbortSignal.any([signal, this.#stop.signal]));
    }

    /**
     * Resolves when the first list is complete. Rejects with KubeError ABORTED if the signal aborts or the informer
     * stops before; waits if it is not started.
     */
    async synced(signal?: AbortSignal): Promise<void> {
        return this.#orAborted(this.#synced.promise, signal);
    }

    /**
     * Forces a new list and resolves when all that was true at the time of the call is known: for decisions that must
     * not rely on a watch, which may lag. Failures of the list are retried; waits if it is not started. Rejects with
     * KubeError ABORTED if the signal aborts or the informer stops before.
     */
    async refresh(signal?: AbortSignal): Promise<void> {
        if (this.#refreshing === undefined) {
            this.#refreshing = Promise.withResolvers();
            this.#interruption.abort();
        }
        if (this.#stop.signal.aborted || this.#state.kind === "stopped") this.#refreshing.reject(this.#stopped());
        return this.#orAborted(this.#refreshing.promise, signal);
    }

    /** The object of this key, `namespace/name` or `name`; undefined if unknown. It is shared: do not modify it. */
    get(key: string): T | undefined {
        return this.#store.objects.get(key);
    }

    /** Returns all known objects, in no particular order. They are shared: do not modify them. */
    list(): readonly T[] {
        return [...this.#store.objects.values()];
    }

    /** Calls the listener synchronously with "added" for each known object, then for each change, until disposed of. */
    onChange(listener: ChangeListener<T>): Disposable {
        return this.#store.listen(listener);
    }

    /** Calls the listener after each list, once the changes it showed are reported. Disposal ends it. */
    onList(listener: ListListener): Disposable {
        this.#listListeners.add(listener);
        return { [Symbol.dispose]: () => this.#listListeners.delete(listener) };
    }

    /**
     * Stops the background work for good and resolves when it has ended; the known objects stay readable. Pending
     * `synced` and `refresh` reject with ABORTED. Idempotent; never rejects.
     */
    async close(): Promise<void> {
        this.#stop.abort();
        // Without a start there is no loop that ends.
        if (this.#run === undefined) this.#end();
        await this.#run;
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.close();
    }

    #orAborted(wanted: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
        return orAborted(wanted, signal, () => new KubeError("ABORTED", `waiting for ${this.#what} was aborted`));
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
                // A server that closes each watch at once must not be queried in a tight loop.
                else await sleep(this.#backoff.next(), turn, this.#clock);
            } catch (error) {
                if (signal.aborted || interrupted.aborted) continue;
                if (this.#clock.monotonic() - began > stableMs) this.#backoff.reset();
                await this.#failed(error, turn);
            }
        }
        this.#end();
    }

    #end(): void {
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
        // An expired version is normal for a long watch, and so is the first broken connection.
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
        const transform = (object: T): T | undefined => this.#keep(object);
        const query = { namespace, fieldSelector, labelSelector, pageSize, transform, signal };
        // Calls of `refresh` from now on wait for the next list.
        const refreshing = this.#refreshing;
        this.#refreshing = undefined;
        try {
            const began = this.#clock.monotonic();
            const result = await this.#components.api.list(resource, query);
            const source: ChangeSource = { by: "list", after: this.upToDateAt };
            const hasChanged = this.#store.replace(result.items, source);
            if (this.#isDoubted) this.#unchangedAt = hasChanged ? -Infinity : began;
            this.#isDoubted = false;
            this.#heardAt = began;
            this.#quiet = { from: -Infinity, to: -Infinity };
            this.#version = result.resourceVersion;
            this.#reportList(began);
        } catch (error) {
            this.#askAgain(refreshing);
            throw error;
        }
        this.#hasSynced = true;
        this.#synced.resolve();
        refreshing?.resolve();
    }

    #reportList(began: number): void {
        for (const listener of this.#listListeners) {
            try {
                listener(began);
            } catch (error) {
                this.#components.logger.error("a list listener failed", { resource: this.#what, error });
            }
        }
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
                // Spread, so that the watches of a cluster are not reopened in the same second.
                timeoutSeconds: 300 + Math.floor(Math.random() * 300),
                signal: AbortSignal.any([signal, idle.signal]),
            });
            this.#state = { kind: "watching" };
            isSilent = true;
            touch();
            for await (const line of splitLines(response, this.#options.maxLineBytes ?? 16 << 20)) {
                touch();
                isSilent = false;
                // An answer that the version is expired carries no information about the objects.
                const event = line.trim() === "" ? undefined : decodeWatchEvent<T>(line, what);
                this.#heard();
                if (event !== undefined) this.#apply(event);
            }
            isSilent = false;
        } catch (cause) {
            const isIdle = idle.signal.aborted && !signal.aborted;
            // A watch that this informer ended is no evidence about the server.
            isSilent &&= isIdle || signal.aborted;
            if (!isIdle) throw cause;
            // Not even a bookmark came: the version may be ahead of the server's, as after etcd was restored from a
            // backup. The server then sends nothing until its versions have caught up.
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
        this.#version = event.resourceVersion;
        if (event.type === "BOOKMARK") return;
        const key = keyOf(event.object);
        const kept = this.#keep(event.object);
        if (event.type === "DELETED" || kept === undefined) this.#store.remove(key, source, kept);
        else this.#store.set(kept, source);
    }

    /** What to keep of an object. One that cannot be reduced must not stop the list and the watch of all others. */
    #keep(object: T): T | undefined {
        try {
            return (this.#options.transform ?? withoutManagedFields)(object);
        } catch (error) {
            const key = keyOf(object);
            this.#components.logger.error("an object cannot be read; it stays as it was known last", {
                resource: this.#what,
                key,
                error,
            });
            const known = this.#store.objects.get(key);
            return known?.metadata?.uid === object.metadata?.uid ? known : undefined;
        }
    }
}

/**
 * Default of `transform`: returns the object without `metadata.managedFields`, which take a third of it, unused. The
 * object itself is not changed.
 */
export function withoutManagedFields<T extends KubeObject>(object: T): T {
    if (object.metadata?.managedFields === undefined) return object;
    const { managedFields: _, ...metadata } = object.metadata;
    return { ...object, metadata };
}

// After these errors the last version is not usable; after all others the watch continues from it.
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
            // "Too large resource version": the server's state was replaced by an older one.
            return JSON.stringify(error.details.causes ?? "").includes("ResourceVersionTooLarge");
        default:
            return false;
    }
}
