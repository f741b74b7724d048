import { setImmediate as turn } from "node:timers/promises";

/** Maximum time in milliseconds that work may block the event loop: an ADD takes about 8 ms. */
const sliceMs = 3;

/** Processes each item, in slices between which other tasks run. Items added meanwhile are processed too. */
export async function inSlices<T>(items: Iterable<T>, work: (item: T) => void): Promise<void> {
    let began = performance.now();
    for (const item of items) {
        work(item);
        if (performance.now() - began < sliceMs) continue;
        await turn();
        began = performance.now();
    }
}
