import { setImmediate as turn } from "node:timers/promises";

/** Maximum time in milliseconds that work may block the event loop: an ADD takes about 8 ms. */
const sliceMs = 3;

/**
 * Processes each item in order, in slices of about 3 ms between which the event loop runs other tasks: what `work`
 * reads may change in between. Items that an array, Map or Set gets meanwhile are processed too. Rejects with what
 * `work` throws; the rest is not processed.
 */
export async function inSlices<T>(items: Iterable<T>, work: (item: T) => void): Promise<void> {
    let began = performance.now();
    for (const item of items) {
        work(item);
        if (performance.now() - began < sliceMs) continue;
        await turn();
        began = performance.now();
    }
}
