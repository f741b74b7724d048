import { describe, expect, it } from "@jest/globals";
import { Backoff } from "../src/backoff.ts";

describe("Backoff", () => {
    it.each([
        ["no jitter", { initialMs: 100, maxMs: 1000, jitter: 0 }, [100, 200, 400, 800, 1000, 1000]],
        ["least jitter", { initialMs: 100, maxMs: 1000, jitter: 0.2, random: () => 0 }, [80, 160, 320, 640, 800, 800]],
        [
            "most jitter stays within the limit",
            { initialMs: 500, maxMs: 1000, jitter: 0.5, random: () => 1 },
            [750, 1000],
        ],
        ["another factor", { initialMs: 1, maxMs: 99, jitter: 0, factor: 10 }, [1, 10, 99, 99]],
    ])("%s", (_name, options, delays) => {
        const backoff = new Backoff(options);
        expect(delays.map(() => backoff.next())).toEqual(delays);
        expect(backoff.tries).toBe(delays.length);
        backoff.reset();
        expect(backoff.next()).toBe(delays[0]);
    });

    it("stays finite after very many tries", () => {
        const backoff = new Backoff({ jitter: 0 });
        for (let i = 0; i < 2000; i += 1) backoff.next();
        expect(backoff.next()).toBe(30_000);
    });
});

it("after connections it waits longer each time, and not at all after one that lasted", () => {
    const backoff = new Backoff({ initialMs: 50, maxMs: 2_000, jitter: 0 });
    const stoodMs = [0, 0, 1_999, 0, 0, 0, 0, 0, 2_000, 0, 0];
    expect(stoodMs.map((ms) => backoff.nextAfter(ms))).toEqual([
        50, 100, 200, 400, 800, 1_600, 2_000, 2_000, 0, 50, 100,
    ]);
});
