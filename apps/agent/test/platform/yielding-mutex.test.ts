import { describe, expect, it } from "@jest/globals";
import { YieldingMutex } from "../../src/platform/yielding-mutex.ts";

/** Blocks the event loop. */
function block(ms: number): void {
    const end = performance.now() + ms;
    while (performance.now() < end);
}

describe("YieldingMutex", () => {
    it("runs one piece after the other, and settles each as its work does", async () => {
        const mutex = new YieldingMutex();
        const log: string[] = [];
        const piece = (name: string) => async (): Promise<string> => {
            log.push(`${name} begins`);
            await Promise.resolve();
            log.push(`${name} ends`);
            if (name === "b") throw new RangeError(name);
            return name;
        };
        const all = await Promise.allSettled(["a", "b", "c"].map((name) => mutex.run(piece(name))));
        expect(all.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
        expect(log).toEqual(["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]);
    });

    it("lets the event loop go on between pieces that block it", async () => {
        const mutex = new YieldingMutex();
        let ended = 0;
        const works = Array.from({ length: 50 }, () =>
            mutex.run(async () => {
                block(4);
                ended += 1;
            }),
        );
        const seen = await new Promise<number>((resolve) => setTimeout(() => resolve(ended), 1));
        expect(seen).toBeLessThan(10);
        await Promise.all(works);
        expect(ended).toBe(50);
    });
});
