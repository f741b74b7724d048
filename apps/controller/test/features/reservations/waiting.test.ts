import { describe, expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import { OwnWrites } from "../../../src/features/reservations/own-writes.ts";
import { Waiting } from "../../../src/features/reservations/waiting.ts";
import { AllocationReader, type Allocation } from "../../../src/platform/allocations/allocation.ts";
import { allocation } from "../../fakes.ts";

describe("Waiting", () => {
    it("serves in turn: who was served and waits on goes to the end", () => {
        const waiting = new Waiting();
        for (const key of ["a", "b", "c"]) waiting.set(key, ["p"]);
        expect(waiting.next("p", 2)).toEqual(["a", "b"]);
        waiting.set("a", ["p", "q"]);
        waiting.set("b", []);
        expect(waiting.next("p", 5)).toEqual(["c", "a"]);
        expect(waiting.next("q", 5)).toEqual(["a"]);
        expect(waiting.next("p", 0)).toEqual([]);
        waiting.set("a", ["q"]);
        waiting.set("c", []);
        expect([waiting.has("p"), waiting.has("q")]).toEqual([false, true]);
    });
});

describe("OwnWrites", () => {
    const parsed = (address: string): Allocation => new AllocationReader().read(allocation(address, "p"));

    it("knows an address from before the write until the watch reports that very allocation", async () => {
        const own = new OwnWrites(new ManualClock());
        const answer = Promise.withResolvers<Allocation | undefined>();
        const writing = own.writing("ns/web", "10.0.0.1", () => answer.promise);
        expect([own.has("10.0.0.1"), own.of("ns/web").length]).toEqual([true, 0]);
        const made = parsed("10.0.0.1");
        answer.resolve(made);
        await writing;
        expect([own.has("10.0.0.1"), own.of("ns/web"), own.of("ns/db")]).toEqual([true, [made], []]);
        own.forget({ name: "10.0.0.1", uid: "an earlier one" });
        expect(own.has("10.0.0.1")).toBe(true);
        own.forget(made.metadata);
        expect([own.has("10.0.0.1"), own.of("ns/web")]).toEqual([false, []]);
    });

    const ordinal = (address: string, name: string): Allocation => ({
        ...parsed(address),
        owner: { kind: "StatefulSet", namespace: "ns", name, uid: "1", index: 0 },
    });

    it.each([
        ["was not written", undefined, false],
        ["is another's", ordinal("10.0.0.2", "db"), false],
        ["is for the StatefulSet", ordinal("10.0.0.2", "web"), true],
    ])("keeps an address whose write failed until it is known: it %s", async (_, live, isOurs) => {
        const own = new OwnWrites(new ManualClock());
        const away = (): Promise<never> => Promise.reject(new Error("away"));
        await expect(own.writing("ns/web", "10.0.0.2", away)).rejects.toThrow("away");
        await expect(own.settle("ns/web", away)).rejects.toThrow("away");
        await own.settle("ns/db", () => Promise.resolve(undefined));
        expect([own.has("10.0.0.2"), own.of("ns/web")]).toEqual([true, []]);
        await own.settle("ns/web", () => Promise.resolve(live));
        expect([own.has("10.0.0.2"), own.of("ns/web").length]).toEqual([isOurs, isOurs ? 1 : 0]);
    });

    it("forgets addresses that were taken, and what the watch never reports", async () => {
        const clock = new ManualClock();
        const own = new OwnWrites(clock);
        await own.writing("ns/web", "10.0.0.1", () => Promise.resolve(undefined));
        expect(own.has("10.0.0.1")).toBe(false);
        await own.writing("ns/web", "10.0.0.3", () => Promise.resolve(parsed("10.0.0.3")));
        // A watch may be silent for 100 s until it is given up.
        await clock.advance(130_000);
        expect(own.prune()).toEqual([]);
        expect(own.has("10.0.0.3")).toBe(true);
        await clock.advance(60_000);
        // Whose it was is to be checked: what was planned counted on it.
        expect(own.prune()).toEqual(["ns/web"]);
        expect(own.has("10.0.0.3")).toBe(false);
    });
});
