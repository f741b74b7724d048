import { expect, it } from "@jest/globals";
import { Backoff } from "../../src/session/backoff.ts";

it("waits longer after each failure, and not at all after a connection that lasted", () => {
    const backoff = new Backoff({ minBackoffMs: 50, maxBackoffMs: 2_000 });
    const readyMs = [0, 0, 1_999, 0, 0, 0, 0, 0, 2_000, 0, 0];
    expect(readyMs.map((ms) => backoff.next(ms))).toEqual([50, 100, 200, 400, 800, 1_600, 2_000, 2_000, 0, 50, 100]);
});
