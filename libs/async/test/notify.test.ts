import { beforeEach, describe, expect, it } from "@jest/globals";
import { Notify } from "../src/index.ts";
import { ManualClock } from "../src/testing/index.ts";

describe("Notify", () => {
    let clock: ManualClock;
    let changed: Notify;
    let ended: boolean;
    beforeEach(() => {
        clock = new ManualClock();
        changed = new Notify({ clock });
        ended = false;
    });

    async function waits(o: Parameters<Notify["wait"]>[0] = {}): Promise<void> {
        void changed.wait(o).then(() => (ended = true));
        await clock.advance(0);
    }

    it("ends a wait at a notification", async () => {
        await waits();
        await clock.advance(1_000_000);
        expect(ended).toBe(false);
        changed.notify();
        await clock.advance(0);
        expect(ended).toBe(true);
    });

    it("ends the next wait at once, once, however many notifications came before", async () => {
        changed.notify();
        changed.notify();
        await waits();
        expect(ended).toBe(true);
        ended = false;
        await waits();
        expect(ended).toBe(false);
    });

    it("does not end a wait when the notification was cleared", async () => {
        changed.notify();
        changed.clear();
        await waits();
        expect(ended).toBe(false);
    });

    it("ends a wait when its time is over, and leaves no timer behind when a notification came before", async () => {
        await waits({ ms: 500 });
        await clock.advance(499);
        expect(ended).toBe(false);
        await clock.advance(1);
        expect(ended).toBe(true);
        await waits({ ms: 500 });
        changed.notify();
        await clock.advance(0);
        expect(clock.pending).toBe(0);
    });

    it("ends a wait when its signal aborts, also before it began", async () => {
        const stop = new AbortController();
        await waits({ signal: stop.signal });
        expect(ended).toBe(false);
        stop.abort();
        await clock.advance(0);
        expect(ended).toBe(true);
        ended = false;
        await waits({ signal: stop.signal });
        expect(ended).toBe(true);
    });
});
