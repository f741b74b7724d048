import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { inSlices } from "../../src/platform/slices.ts";

/** Work that keeps the event loop longer than a slice may. */
function toil(): void {
    const began = performance.now();
    while (performance.now() - began < 5);
}

describe("work in slices", () => {
    it("does something for each item in order, and what is added meanwhile", async () => {
        const [items, done]: [Set<number>, number[]] = [new Set([1, 2, 3]), []];
        await inSlices(items, (item) => {
            done.push(item);
            if (item === 2) items.add(4);
        });
        expect(done).toEqual([1, 2, 3, 4]);
    });

    it("gives others their turn when it takes long", async () => {
        const order: string[] = [];
        const other = (async () => {
            for (let count = 0; count < 2; count += 1) {
                await turn();
                order.push("other");
            }
        })();
        await inSlices([1, 2, 3], (item) => {
            toil();
            order.push(String(item));
        });
        await other;
        expect(order.indexOf("other")).toBeLessThan(order.indexOf("3"));
        expect(order.filter((name) => name !== "other")).toEqual(["1", "2", "3"]);
    });

    it("fails with the first item that fails", async () => {
        const done: number[] = [];
        const failing = inSlices([1, 2, 3], (item) => {
            if (item === 2) throw new RangeError("two");
            done.push(item);
        });
        await expect(failing).rejects.toThrow("two");
        expect(done).toEqual([1]);
    });
});
