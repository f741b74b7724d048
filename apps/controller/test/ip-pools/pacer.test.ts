import { describe, expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/runtime/testing";
import { Pacer } from "../../src/ip-pools/pacer.ts";

describe("Pacer", () => {
    /** Seconds at which a key is due that changes at these seconds. */
    async function due(...changes: readonly number[]): Promise<readonly number[]> {
        const clock = new ManualClock();
        const pacer = new Pacer({ clock }, { quietMs: 1_000, busyMs: 5_000 });
        const found: number[] = [];
        for (let tenth = 0; tenth < 300; tenth += 1) {
            if (changes.includes(tenth / 10)) pacer.changed("a");
            if (pacer.take().includes("a")) found.push(tenth / 10);
            await clock.advance(100);
        }
        return found;
    }

    it.each([
        ["once", [2], [3]],
        ["in a burst", [2, 2.3, 2.6, 3.1], [4.1]],
        ["with pauses", [2, 5, 9], [3, 6, 10]],
        ["never", [], []],
    ])("a key that changes %s", async (_name, changes, expected) => {
        expect(await due(...changes)).toEqual(expected);
    });

    it("a key that changes all the time is due each five seconds and once more at the end", async () => {
        const changes = Array.from({ length: 121 }, (_, tenth) => (tenth + 10) / 10);
        expect(await due(...changes)).toEqual([6, 11.1, 14]);
    });

    it("keys do not delay each other", async () => {
        const clock = new ManualClock();
        const pacer = new Pacer({ clock }, { quietMs: 1_000 });
        pacer.changed("a");
        await clock.advance(600);
        pacer.changed("b");
        await clock.advance(600);
        expect(pacer.take()).toEqual(["a"]);
        await clock.advance(600);
        expect(pacer.take()).toEqual(["b"]);
        expect(pacer.take()).toEqual([]);
    });
});
