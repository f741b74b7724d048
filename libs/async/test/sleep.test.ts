import { describe, expect, it } from "@jest/globals";
import { sleep, withTimeout } from "../src/sleep.ts";
import { ManualClock, settle } from "../src/testing/index.ts";

describe("sleep", () => {
    it("resolves after its time, not before, and leaves nothing behind", async () => {
        const clock = new ManualClock();
        let over = false;
        void sleep(100, undefined, clock).then(() => (over = true));
        await clock.advance(99);
        expect(over).toBe(false);
        await clock.advance(1);
        expect(over).toBe(true);
        expect(clock.pending).toBe(0);
    });

    it("rejects when the signal aborts, or has", async () => {
        const clock = new ManualClock();
        const ending = new AbortController();
        const asleep = sleep(100, ending.signal, clock);
        ending.abort();
        const aborted = { code: "ABORTED", fault: "aborted" };
        await expect(asleep).rejects.toMatchObject(aborted);
        await expect(sleep(100, ending.signal, clock)).rejects.toMatchObject(aborted);
        expect(clock.pending).toBe(0);
    });
});

describe("withTimeout", () => {
    it("gives the result of work that ends in time, or its error", async () => {
        const clock = new ManualClock();
        await expect(withTimeout(async () => "done", 10, undefined, { clock })).resolves.toBe("done");
        const failure = new TypeError("no");
        await expect(withTimeout(() => Promise.reject(failure), 10, undefined, { clock })).rejects.toBe(failure);
        expect(clock.pending).toBe(0);
    });

    it("rejects at its limit, aborts the work, and does not wait for work that does not listen", async () => {
        const clock = new ManualClock();
        let given: AbortSignal | undefined;
        const work = (signal: AbortSignal): Promise<never> => {
            given = signal;
            return new Promise(() => undefined);
        };
        const result = withTimeout(work, 50, undefined, { what: "the flows of br-int", clock });
        const failed = expect(result).rejects.toMatchObject({
            code: "TIMEOUT",
            fault: "timeout",
            message: "the flows of br-int did not end within 50 ms",
        });
        await clock.advance(50);
        await failed;
        expect(given?.aborted).toBe(true);
    });

    it("rejects when the outer signal aborts; a late rejection of the work is nobody's", async () => {
        const clock = new ManualClock();
        const ending = new AbortController();
        const late = Promise.withResolvers<never>();
        const result = withTimeout(() => late.promise, 50, ending.signal, { clock });
        ending.abort();
        await expect(result).rejects.toMatchObject({ code: "ABORTED", fault: "aborted" });
        late.reject(new TypeError("late"));
        await settle();
        expect(clock.pending).toBe(0);
        await expect(withTimeout(async () => 1, 1, ending.signal)).rejects.toMatchObject({ code: "ABORTED" });
    });
});
