import { setImmediate as turn } from "node:timers/promises";

/** How long work may keep the event loop: an ADD takes about 8 ms. */
const sliceMs = 3;

/** Does something for each item, in slices between which others get their turn. What is added meanwhile is done too. */
export async function inSlices<T>(items: Iterable<T>, work: (item: T) => void): Promise<void> {
    let began = performance.now();
    for (const item of items) {
        work(item);
        if (performance.now() - began < sliceMs) continue;
        await turn();
        began = performance.now();
    }
}
