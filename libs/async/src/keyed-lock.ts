import { orAborted } from "./aborted.ts";
import { abortedError } from "./errors.ts";

/**
 * Work that is serial for each key, in the order of the calls, and parallel across keys. Not reentrant: work that runs
 * the lock for its own key waits for itself.
 */
export class KeyedLock<Key = string> {
    // The end of the last work of a key; gone as soon as nobody holds the key or waits for it.
    readonly #tails = new Map<Key, Promise<void>>();

    /** How many keys are held now. */
    get size(): number {
        return this.#tails.size;
    }

    /**
     * Runs `work` when every earlier work of `key` has ended, failed or not. When the signal aborts while waiting, it
     * rejects with AsyncError `ABORTED` at once and `work` never runs; a work that has begun is not interrupted.
     */
    async run<T>(key: Key, work: () => Promise<T> | T, signal?: AbortSignal): Promise<T> {
        return this.runAll([key], work, signal);
    }

    /** The same for a work that holds several keys, which are all taken at once: no order of keys lets two works wait for each other. */
    async runAll<T>(keys: readonly Key[], work: () => Promise<T> | T, signal?: AbortSignal): Promise<T> {
        const error = (): unknown => signal && abortedError(`waiting for ${keys.join(", ")}`, signal);
        if (signal?.aborted) throw error();
        const tails = keys.flatMap((key) => this.#tails.get(key) ?? []);
        const before = tails.length > 1 ? Promise.all(tails) : tails[0];
        const done = Promise.withResolvers<void>();
        // Who gives up waiting must not let the next one overtake the work before: its end is chained.
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
