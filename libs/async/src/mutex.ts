/** Lets one piece of work run at a time, in the order of the calls. */
export class Mutex {
    #last: Promise<unknown> = Promise.resolve();
    #pending = 0;

    /** Runs `work` at once if nothing is under way, within this turn of the event loop, else after what is. */
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
