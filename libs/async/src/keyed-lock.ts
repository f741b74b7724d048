import { orAborted } from "./aborted.ts";
import { abortedError } from "./errors.ts";

/**
 * A lock for each key (keys are compared as those of a Map): work on one key runs one at a time in the order of the
 * calls, work on different keys runs in parallel. Not reentrant: work that calls `run` for its own key and awaits it
 * deadlocks.
 */
export class KeyedLock<Key = string> {
    // The end of the last work of a key; removed as soon as the key is neither held nor waited for.
    readonly #tails = new Map<Key, Promise<void>>();

    /** Number of keys that are held or waited for; 0 when no work runs or waits. */
    get size(): number {
        return this.#tails.size;
    }

    /**
     * Runs `work` after all earlier work of `key` has ended, whether it failed or not, and settles as it does. Rejects
     * with AsyncError `ABORTED` when the signal aborts before `work` starts; `work` then never runs. Started work is
     * not interrupted.
     */
    async run<T>(key: Key, work: () => Promise<T> | T, signal?: AbortSignal): Promise<T> {
        return this.runAll([key], work, signal);
    }

    /**
     * Like `run`, for work that holds several keys. All keys are taken at once, so two calls cannot deadlock whatever
     * the order of their keys; without keys, `work` starts at once.
     */
    async runAll<T>(keys: readonly Key[], work: () => Promise<T> | T, signal?: AbortSignal): Promise<T> {
        const error = (): unknown => signal && abortedError(`waiting for ${keys.join(", ")}`, signal);
        if (signal?.aborted) throw error();
        const tails = keys.flatMap((key) => this.#tails.get(key) ?? []);
        const before = tails.length > 1 ? Promise.all(tails) : tails[0];
        const done = Promise.withResolvers<void>();
        // A call that gives up waiting must not let the next one overtake the work before: its end is chained.
        const tail = before === undefined ? done.promise : before.then(() => done.promise);
        for (const key of keys) this.#tails.set(key, tail);
        try {
            if (before !== undefined) await orAborted<unknown>(before, signal, error);
            return await work();
        } finally {
            done.resolve();
            void tail.then(() => {
                for (const key of keys) if (this.#tails.get(key) === tail) this.#tails.delete(key);
            });
        }
    }
}
