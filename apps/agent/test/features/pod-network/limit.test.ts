import { describe, expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import { Limit } from "../../../src/features/pod-network/limit.ts";

describe("the limit of a piece of work", () => {
    it("says what took too long, as a matter of time and not a fault of the caller", async () => {
        const clock = new ManualClock();
        using limit = new Limit(clock, 5_000, "unwiring");
        await clock.advance(4_999);
        expect(limit.signal.aborted).toBe(false);
        await clock.advance(1);
        expect(limit.signal.reason).toMatchObject({
            code: "TOO_SLOW",
            fault: "timeout",
            message: "unwiring took longer than 5 s",
        });
    });

    it("ends with who asked for the work, and leaves no timer when the work is done", () => {
        const clock = new ManualClock();
        const stop = new AbortController();
        {
            using limit = new Limit(clock, 5_000, "unwiring", stop.signal);
            expect(clock.pending).toBe(1);
            stop.abort(new Error("hung up"));
            expect(limit.signal.reason).toBe(stop.signal.reason);
        }
        expect(clock.pending).toBe(0);
    });
});
