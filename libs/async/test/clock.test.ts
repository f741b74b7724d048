import { describe, expect, it } from "@jest/globals";
import { type Clock, systemClock } from "../src/clock.ts";
import { ManualClock } from "../src/testing/index.ts";

const manual = new ManualClock();
const pass = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe.each<[string, Clock, (ms: number) => Promise<void>]>([
    ["the clock of the machine", systemClock, pass],
    ["the clock of tests", manual, (ms) => manual.advance(ms)],
])("%s", (_name, clock, advance) => {
    it("moves on, and calls timers in the order of their times, never in the call that sets them", async () => {
        const [wall, began] = [clock.now(), clock.monotonic()];
        const fired: string[] = [];
        clock.after(20, () => fired.push("second"));
        clock.after(10, () => fired.push("first"));
        clock.after(-1, () => fired.push("at once"));
        clock.after(2 ** 40, () => fired.push("in decades"))[Symbol.dispose]();
        using _far = clock.after(2 ** 40, () => fired.push("in decades"));
        expect(fired).toEqual([]);
        await advance(60);
        expect(fired).toEqual(["at once", "first", "second"]);
        expect(clock.monotonic() - began).toBeGreaterThanOrEqual(59);
        expect(clock.now() - wall).toBeGreaterThanOrEqual(59);
    });

    it("does not call a timer that was disposed of, also twice or after it fired", async () => {
        const fired: string[] = [];
        const timer = clock.after(5, () => fired.push("disposed"));
        const fires = clock.after(1, () => fired.push("fired"));
        timer[Symbol.dispose]();
        timer[Symbol.dispose]();
        await advance(30);
        fires[Symbol.dispose]();
        expect(fired).toEqual(["fired"]);
    });
});
