import { beforeEach, describe, expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import { SyncHealth } from "../../../src/features/services/sync-health.ts";

let clock: ManualClock;
let health: SyncHealth;

beforeEach(() => {
    clock = new ManualClock();
    health = new SyncHealth({ clock });
});

const waiting = (): number | undefined => health.state.waitingMs;

describe("the time for which the oldest change waits", () => {
    it("is none without changes, and after the last one is done", async () => {
        expect(health.state).toEqual({ waitingMs: undefined, syncedAt: undefined });
        health.changed("a");
        await clock.advance(5);
        expect(waiting()).toBe(5);
        health.begin("a");
        await clock.advance(5);
        expect(waiting()).toBe(10);
        const now = clock.now();
        health.done("a");
        expect(health.state).toEqual({ waitingMs: undefined, syncedAt: now });
    });

    it("counts from the first change of several, and of several Services the oldest", async () => {
        health.changed("a");
        await clock.advance(5);
        health.changed("a");
        health.changed("b");
        expect(waiting()).toBe(5);
        health.begin("a");
        health.done("a");
        expect(waiting()).toBe(0);
    });

    it("goes on after a failure", async () => {
        health.changed("a");
        await clock.advance(5);
        health.begin("a");
        health.changed("a");
        await clock.advance(5);
        health.failed("a");
        expect(waiting()).toBe(10);
        health.begin("a");
        health.done("a");
        expect(waiting()).toBeUndefined();
    });

    it("counts a change that came while an earlier one was under way", async () => {
        health.changed("a");
        health.begin("a");
        await clock.advance(5);
        health.changed("a");
        health.done("a");
        await clock.advance(2);
        expect(waiting()).toBe(2);
    });
});
