import { describe, expect, it } from "@jest/globals";
import { ManualClock, MemoryLog, settle } from "@antrea/runtime/testing";
import { type KubeEvent } from "../../src/api/types.ts";
import { KubeError } from "../../src/errors.ts";
import { EventRecorder, type EventInput, type EventRecorderOptions } from "../../src/events/recorder.ts";

const input: EventInput = {
    regarding: { apiVersion: "v1", kind: "Node", name: "worker", uid: "1" },
    type: "Warning",
    reason: "CIDRNotAvailable",
    action: "AllocatePodCIDR",
    note: "none is free",
};

function make(options: Partial<EventRecorderOptions> = {}) {
    const clock = new ManualClock();
    const created: KubeEvent[] = [];
    const patched: unknown[] = [];
    const faults: KubeError[] = [];
    const fail = (): void => {
        const fault = faults.shift();
        if (fault !== undefined) throw fault;
    };
    const api = {
        create: (async (_resource: unknown, event: KubeEvent) => {
            await Promise.resolve();
            fail();
            created.push(event);
            return event;
        }) as never,
        patch: (async (_resource: unknown, _ref: unknown, patch: { body: unknown }) => {
            await Promise.resolve();
            fail();
            patched.push(patch.body);
        }) as never,
    };
    const recorder = new EventRecorder(
        { api, logger: new MemoryLog().logger, clock },
        { reportingController: "c", reportingInstance: "i", ...options },
    );
    const stop = new AbortController();
    recorder.start(stop.signal);
    return { recorder, clock, created, patched, faults };
}

describe("EventRecorder", () => {
    it("sends one event, counts repetitions in its series and begins anew after the window", async () => {
        const { recorder, clock, created, patched } = make();
        for (let time = 0; time < 5; time += 1) recorder.record(input);
        recorder.record({ ...input, note: "another" });
        await clock.advance(1);
        expect(created.map(({ note }) => note)).toEqual(["none is free", "another"]);
        expect(created[0]).toMatchObject({ metadata: { namespace: "default" }, reportingController: "c" });
        await clock.advance(31_000);
        expect(patched).toEqual([
            { series: { count: 5, lastObservedTime: expect.stringMatching(/^\d{4}-.*\d{6}Z$/) } },
        ]);
        await clock.advance(400_000);
        recorder.record(input);
        await clock.advance(1);
        expect(created).toHaveLength(3);
        await recorder.close();
    });

    it("lets the first event wait for as long as it is told, and sends it at the end in any case", async () => {
        const { recorder, clock, created } = make({ delayMs: 500 });
        await clock.advance(1);
        recorder.record(input);
        await clock.advance(400);
        recorder.record({ ...input, note: "another" });
        expect(created).toEqual([]);
        await clock.advance(100);
        expect(created).toHaveLength(2);
        recorder.record({ ...input, note: "last" });
        await settle();
        await recorder.close();
        expect(created).toHaveLength(3);
    });

    it("keeps events while the server is away, drops what the queue cannot hold and what is refused", async () => {
        const { recorder, clock, created, faults } = make({ maxQueued: 2 });
        faults.push(new KubeError("CONNECTION_FAILED", "down"), new KubeError("UNAVAILABLE", "down"));
        for (const note of ["1", "2", "3"]) recorder.record({ ...input, note });
        expect(recorder.dropped).toBe(1);
        await clock.advance(1);
        expect(created).toHaveLength(0);
        faults.push(new KubeError("INVALID", "no such namespace"));
        await clock.advance(10_000);
        expect(created.map(({ note }) => note)).toEqual(["2"]);
        expect(recorder.dropped).toBe(2);
        await recorder.close();
    });

    it("sends what waits when it is closed", async () => {
        const { recorder, created } = make();
        recorder.record(input);
        await recorder.close();
        await settle();
        expect(created).toHaveLength(1);
    });

    it("cuts what the API server would refuse", async () => {
        const { recorder, clock, created } = make({ reportingInstance: "x".repeat(200) });
        recorder.record({ ...input, note: "ü".repeat(1_000) });
        await clock.advance(1);
        expect(Buffer.byteLength(created[0]?.note ?? "")).toBeLessThanOrEqual(1024);
        expect(created[0]?.note).toMatch(/ü…$/);
        expect(created[0]?.reportingInstance).toHaveLength(128);
        await recorder.close();
    });
});
