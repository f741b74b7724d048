import { describe, expect, it } from "@jest/globals";
import { ManualClock, settle } from "@antrea/async/testing";
import { MemoryLog } from "@antrea/runtime/testing";
import { type KubeEvent } from "../../src/api/types.ts";
import { nodes, pods } from "../../src/api/resources.ts";
import { KubeError } from "../../src/errors.ts";
import { EventRecorder, referenceTo, type EventInput, type EventRecorderOptions } from "../../src/events/recorder.ts";

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
    it.each([".", "-", "a"])(
        "names the event of a long name as the API server takes it, where it is cut at %j",
        async (at) => {
            const { recorder, clock, created } = make();
            const name =
                `${"a".repeat(63)}.${"b".repeat(63)}.${"c".repeat(63)}.${"d".repeat(43)}`.slice(0, 235) + `${at}e`;
            recorder.record({ ...input, regarding: { ...input.regarding, name } });
            await clock.advance(1);
            const given = created[0]?.metadata?.name ?? "";
            // RFC 1123, as the API server reads it
            expect(given).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/);
            expect(given.length).toBeLessThanOrEqual(253);
            expect(given.startsWith(name.slice(0, 235))).toBe(true);
        },
    );

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

    it("lets the first event wait for as long as is configured, and sends it at the end in any case", async () => {
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

    it("counts as dropped what comes after it was closed", async () => {
        const { recorder, created } = make();
        recorder.record(input);
        await recorder.close();
        recorder.record(input);
        recorder.record({ ...input, note: "another" });
        await settle();
        expect([created.length, recorder.dropped]).toEqual([1, 2]);
        await recorder.close();
        expect([created.length, recorder.dropped]).toEqual([1, 2]);
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

    it("sends all that the API server requires of an event, and what it is about", async () => {
        const { recorder, clock, created } = make();
        const pod = { metadata: { namespace: "n", name: "p".repeat(253), uid: "7" } };
        recorder.record({
            ...input,
            regarding: referenceTo(pods, pod),
            related: referenceTo(nodes, {}),
            reason: "r".repeat(129),
            action: "a".repeat(129),
            note: "n".repeat(1_024),
        });
        recorder.record(input);
        await clock.advance(1);
        expect(created[0]).toEqual({
            metadata: { namespace: "n", name: expect.stringMatching(/^p{236}\.[0-9a-f]{16}$/) },
            eventTime: "2026-01-01T00:00:00.000000Z",
            reportingController: "c",
            reportingInstance: "i",
            type: "Warning",
            reason: "r".repeat(128),
            action: "a".repeat(128),
            note: "n".repeat(1_024),
            regarding: { apiVersion: "v1", kind: "Pod", namespace: "n", name: "p".repeat(253), uid: "7" },
            related: { apiVersion: "v1", kind: "Node", name: "" },
        });
        expect(created[1]?.metadata?.name).toMatch(/^worker\.[0-9a-f]{16}$/);
        expect(created[1]).not.toHaveProperty("related");
        await recorder.close();
    });

    it.each<[string, Partial<EventInput>]>([
        ["another object", { regarding: { ...input.regarding, name: "other" } }],
        ["an object of that name made anew", { regarding: { ...input.regarding, uid: "2" } }],
        ["another Namespace", { regarding: { ...input.regarding, namespace: "n" } }],
        ["another kind", { regarding: { ...input.regarding, kind: "Pod" } }],
        ["another type", { type: "Normal" }],
        ["another reason", { reason: "Other" }],
        ["another action", { action: "Other" }],
    ])("takes %s for another event, and not for one more of a series", async (_name, other) => {
        const { recorder, clock, created } = make();
        recorder.record(input);
        recorder.record({ ...input, ...other });
        await clock.advance(1);
        expect(created).toHaveLength(2);
        await recorder.close();
    });

    it("continues a series up to its window after the last time, and no longer", async () => {
        const { recorder, clock, created } = make({ seriesWindowMs: 1_000, seriesWriteMs: 100 });
        for (let time = 0; time < 5; time += 1) {
            recorder.record(input);
            await clock.advance(1_000);
        }
        expect(created).toHaveLength(1);
        await clock.advance(1);
        recorder.record(input);
        await clock.advance(1);
        expect(created).toHaveLength(2);
        await recorder.close();
    });

    it("writes a growing series at most once in its time, with the count and when it was last", async () => {
        const { recorder, clock, patched } = make({ seriesWriteMs: 10_000 });
        recorder.record(input);
        await clock.advance(4_000);
        recorder.record(input);
        await clock.advance(5_999);
        expect(patched).toEqual([]);
        await clock.advance(2);
        expect(patched).toEqual([{ series: { count: 2, lastObservedTime: "2026-01-01T00:00:04.000000Z" } }]);
        await clock.advance(60_000);
        expect(patched).toHaveLength(1);
        recorder.record(input);
        await clock.advance(10_000);
        expect(patched[1]).toMatchObject({ series: { count: 3 } });
        expect(patched).toHaveLength(2);
        await recorder.close();
    });

    it("makes the event of a series anew when the server has forgotten it", async () => {
        const { recorder, clock, created, patched, faults } = make();
        recorder.record(input);
        await clock.advance(1);
        recorder.record(input);
        faults.push(new KubeError("NOT_FOUND", "gone"));
        await clock.advance(60_000);
        expect(created).toHaveLength(2);
        expect(created[1]?.metadata?.name).not.toBe(created[0]?.metadata?.name);
        expect(recorder.dropped).toBe(0);
        await clock.advance(60_000);
        expect(patched).toEqual([{ series: { count: 2, lastObservedTime: expect.any(String) } }]);
        await recorder.close();
    });

    it("goes on with the event of a series after a server that did not answer, without another one", async () => {
        const { recorder, clock, created, patched, faults } = make();
        recorder.record(input);
        await clock.advance(1);
        recorder.record(input);
        faults.push(new KubeError("UNAVAILABLE", "made up"));
        await clock.advance(60_000);
        await clock.advance(60_000);
        expect(created).toHaveLength(1);
        expect(patched).toEqual([{ series: { count: 2, lastObservedTime: expect.any(String) } }]);
        await recorder.close();
    });

    it.each([
        "CONNECTION_FAILED",
        "TIMEOUT",
        "UNAVAILABLE",
        "SERVER_TIMEOUT",
        "TOO_MANY_REQUESTS",
        "SERVER_ERROR",
    ] as const)("sends an event again, after two seconds, that failed with %s", async (code) => {
        const { recorder, clock, created, faults } = make();
        faults.push(new KubeError(code, "made up"));
        recorder.record(input);
        await clock.advance(1_999);
        expect(created).toHaveLength(0);
        await clock.advance(1);
        expect(created).toHaveLength(1);
        expect(recorder.dropped).toBe(0);
        await recorder.close();
    });

    it("writes at the end what series grew by, and counts what it could not send any more", async () => {
        const { recorder, clock, patched } = make();
        recorder.record(input);
        await clock.advance(1);
        recorder.record(input);
        recorder.record(input);
        await recorder.close();
        expect(patched).toEqual([{ series: { count: 3, lastObservedTime: expect.any(String) } }]);
        expect(recorder.dropped).toBe(0);

        const cut = make();
        cut.faults.push(new KubeError("CONNECTION_FAILED", "down"), new KubeError("CONNECTION_FAILED", "down"));
        cut.recorder.record(input);
        cut.recorder.record({ ...input, note: "another" });
        await settle();
        await cut.recorder.close(5);
        expect(cut.recorder.dropped).toBe(2);
    });
});
