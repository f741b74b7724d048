import { describe, expect, it } from "@jest/globals";
import { abortedError, orAborted } from "@antrea/async";
import { ManualClock } from "@antrea/async/testing";
import { Limit } from "../../../src/features/pod-network/limit.ts";

describe("the limit of a piece of work", () => {
    it("reports what took too long, as a matter of time and not a fault of the caller", async () => {
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

    it("of work that it ended is a failure by time, of work that somebody else ended first an abort", async () => {
        const waiting = (signal: AbortSignal): Promise<void> =>
            orAborted(new Promise<void>(() => undefined), signal, () => abortedError("waiting for OVS", signal));
        const clock = new ManualClock();
        const stop = new AbortController();
        using slow = new Limit(clock, 5_000, "unwiring", stop.signal);
        const late = slow.run(waiting);
        late.catch(() => undefined);
        await clock.advance(5_000);
        stop.abort(new Error("hung up"));
        await expect(late).rejects.toMatchObject({
            code: "TOO_SLOW",
            fault: "timeout",
            message: "unwiring took longer than 5 s: waiting for OVS was cancelled",
        });
        using given = new Limit(clock, 5_000, "unwiring", stop.signal);
        await clock.advance(5_000);
        await expect(given.run(waiting)).rejects.toMatchObject({ code: "ABORTED", cause: { message: "hung up" } });
    });

    it("leaves results and other failures as they are, also after its time", async () => {
        const clock = new ManualClock();
        using limit = new Limit(clock, 5_000, "unwiring");
        await clock.advance(5_000);
        await expect(limit.run(() => Promise.resolve(7))).resolves.toBe(7);
        const refused = new TypeError("refused");
        await expect(limit.run(() => Promise.reject(refused))).rejects.toBe(refused);
    });
});
