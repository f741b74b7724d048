import { setImmediate as turn } from "node:timers/promises";

/** Maximum time in milliseconds that work may block the event loop, as in slices.ts. */
const sliceMs = 3;

/**
 * Runs pieces of work that block the event loop, such as requests to the kernel, one at a time in the order of the calls, and
 * lets the event loop serve sockets and timers between them, about every 3 ms: thousands of pieces in a row would keep it
 * from answers for seconds.
 */
export class YieldingMutex {
    #last: Promise<unknown> = Promise.resolve();
    #began = -Infinity;

    /** Settles as the work does. Not reentrant: work that calls `run` and awaits it deadlocks. */
    run<T>(work: () => Promise<T>): Promise<T> {
        const result = this.#last.then(async () => {
            if (performance.now() - this.#began >= sliceMs) {
                await turn();
                this.#began = performance.now();
            }
            return work();
        });
        this.#last = result.then(ignore, ignore);
        return result;
    }
}

function ignore(): void {
    // Its caller handles it.
}
