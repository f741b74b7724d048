/**
 * Runs one piece of work at a time, in the order of the calls. Not reentrant: work that calls `run` and awaits it
 * deadlocks.
 */
export class Mutex {
    #last: Promise<unknown> = Promise.resolve();
    #pending = 0;

    /**
     * Runs `work` after all earlier work has ended, whether it failed or not, and settles as it does. If none is
     * running, `work` starts synchronously.
     */
    run<T>(work: () => T | Promise<T>): Promise<T> {
        const result = this.#pending === 0 ? start(work) : this.#last.then(work);
        this.#pending++;
        this.#last = result.then(this.#end, this.#end);
        return result;
    }

    readonly #end = (): void => {
        this.#pending--;
    };
}

// An async function, so that what `work` throws becomes a rejection.
async function start<T>(work: () => T | Promise<T>): Promise<T> {
    return work();
}
