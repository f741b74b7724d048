import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import { Pacer } from "../../../src/features/pool-status/pacer.ts";

describe("Pacer", () => {
    let clock: ManualClock;
    let stop: AbortController;
    beforeEach(() => {
        clock = new ManualClock();
        stop = new AbortController();
    });
    afterEach(() => stop.abort());

    /** What is due, with the seconds at which it is. */
    function follow(pacer: Pacer): readonly string[] {
        const found: string[] = [];
        const loop = async (): Promise<void> => {
            while (!stop.signal.aborted) {
                for (const key of await pacer.next(stop.signal)) found.push(`${key} ${clock.monotonic() / 1000}`);
            }
        };
        void loop();
        return found;
    }

    /** When a key is due that changes at these seconds. */
    async function due(...changes: readonly number[]): Promise<readonly string[]> {
        const pacer = new Pacer({ clock }, { quietMs: 1_000, busyMs: 5_000 });
        const found = follow(pacer);
        for (let tenth = 0; tenth < 300; tenth += 1) {
            if (changes.includes(tenth / 10)) pacer.changed("a");
            await clock.advance(100);
        }
        return found;
    }

    it.each([
        ["once", [2], ["a 3"]],
        ["in a burst", [2, 2.3, 2.6, 3.1], ["a 4.1"]],
        ["with pauses", [2, 5, 9], ["a 3", "a 6", "a 10"]],
        ["never", [], []],
    ])("a key that changes %s", async (_name, changes, expected) => {
        expect(await due(...changes)).toEqual(expected);
    });

    it("a key that changes all the time is due each five seconds and once more at the end", async () => {
        const changes = Array.from({ length: 121 }, (_, tenth) => (tenth + 10) / 10);
        expect(await due(...changes)).toEqual(["a 6", "a 11", "a 14"]);
    });

    it("keys do not delay each other", async () => {
        const pacer = new Pacer({ clock }, { quietMs: 1_000 });
        const found = follow(pacer);
        pacer.changed("a");
        await clock.advance(600);
        pacer.changed("b");
        await clock.advance(5_000);
        expect(found).toEqual(["a 1", "b 1.6"]);
    });

    it("a key that is urgent is due at once, also while others wait, and once", async () => {
        const pacer = new Pacer({ clock }, { quietMs: 1_000 });
        const found = follow(pacer);
        pacer.changed("a");
        await clock.advance(300);
        pacer.changed("b");
        pacer.urgent("b");
        pacer.urgent("c");
        await clock.advance(100);
        expect(found).toEqual(["b 0.3", "c 0.3"]);
        await clock.advance(5_000);
        expect(found).toEqual(["b 0.3", "c 0.3", "a 1"]);
    });

    it("sleeps while nothing changes, and ends with its signal", async () => {
        const pacer = new Pacer({ clock });
        const next = pacer.next(stop.signal);
        await clock.advance(60_000);
        expect(clock.pending).toBe(0);
        pacer.changed("a");
        await clock.advance(0);
        expect(clock.pending).toBe(1);
        stop.abort();
        expect(await next).toEqual([]);
        expect(clock.pending).toBe(0);
    });
});
