import { describe, expect, it } from "@jest/globals";
import { aborted } from "@antrea/async";
import { settle } from "@antrea/async/testing";
import { Metrics } from "@antrea/runtime";
import { leadership } from "../../src/platform/leadership.ts";
import { together } from "../../src/platform/together.ts";

/** Work that runs until it is aborted and then takes until `release` to end. */
function slow(events: string[], name: string, release: Promise<void>) {
    return async (term: AbortSignal): Promise<void> => {
        await aborted(term);
        events.push(`${name} aborted`);
        await release;
        events.push(`${name} ended`);
    };
}

describe("works together", () => {
    it.each<[string, () => Promise<void>]>([
        ["rejects", () => Promise.reject(new TypeError("lost"))],
        [
            "throws at once",
            () => {
                throw new TypeError("lost");
            },
        ],
    ])("end when one %s, and only when all have ended", async (_, failing) => {
        const events: string[] = [];
        const release = Promise.withResolvers<void>();
        const result = together(new AbortController().signal, [slow(events, "a", release.promise), failing]).then(
            () => "resolved",
            (error: unknown) => `rejected ${String(error)}`,
        );
        void result.then((text) => events.push(text));
        await settle();
        expect(events).toEqual(["a aborted"]);
        release.resolve();
        expect(await result).toBe("rejected TypeError: lost");
        expect(events).toEqual(["a aborted", "a ended", "rejected TypeError: lost"]);
    });

    it("end with the signal", async () => {
        const events: string[] = [];
        const stop = new AbortController();
        const all = together(stop.signal, [slow(events, "a", Promise.resolve()), slow(events, "b", Promise.resolve())]);
        stop.abort();
        await all;
        expect(events.sort()).toEqual(["a aborted", "a ended", "b aborted", "b ended"]);
    });
});

it("the lease is given up only when no feature works any more", async () => {
    const events: string[] = [];
    const release = Promise.withResolvers<void>();
    const election = {
        leading: true,
        run: async (signal: AbortSignal, lead: (term: AbortSignal) => Promise<void>): Promise<void> => {
            await lead(signal).catch((error: unknown) => events.push(String(error)));
            events.push("released");
        },
    };
    const failing = Promise.withResolvers<void>();
    const part = leadership({ election, metrics: new Metrics({ processMetrics: false }) }, [
        { name: "a", lead: slow(events, "a", release.promise) },
        { name: "b", lead: () => failing.promise },
    ]);
    expect(part.includes).toEqual(["a", "b"]);
    await part.start?.(new AbortController().signal);
    await settle();
    expect(events).toEqual([]);
    failing.reject(new TypeError("lost"));
    await settle();
    expect(events).toEqual(["a aborted"]);
    release.resolve();
    await part.stop?.();
    expect(events).toEqual(["a aborted", "a ended", "TypeError: lost", "released"]);
});
