import { beforeEach, describe, expect, it } from "@jest/globals";
import { type EventInput } from "@antrea/kube";
import { type Problem, type ProblemReason } from "@antrea/services";
import { ServiceEvents } from "../../../src/features/services/service-events.ts";
import { serviceWith } from "./examples.ts";

const minuteMs = 60_000;
let now = 0;
let recorded: EventInput[];
let events: ServiceEvents;

beforeEach(() => {
    now = 1_000;
    recorded = [];
    const clock = { monotonic: () => now } as ConstructorParameters<typeof ServiceEvents>[0]["clock"];
    events = new ServiceEvents({ record: (event) => void recorded.push(event), clock });
});

const problem = (reason: ProblemReason): Problem => ({
    reason,
    field: `spec.${reason}`,
    value: "1",
    rule: "must be 2",
    next: "change it",
    count: 1,
});
const report = (...reasons: readonly ProblemReason[]): number | undefined =>
    events.report(serviceWith([], { problems: reasons.map(problem) }));
const reasons = (): readonly string[] => recorded.map(({ reason }) => reason);

describe("events about Services", () => {
    it("name the Service, the reason, and what to do", () => {
        expect(report("AddressTaken")).toBe(undefined);
        expect(recorded).toEqual([
            {
                type: "Warning",
                reason: "AddressTaken",
                action: "ServeService",
                regarding: { apiVersion: "v1", kind: "Service", namespace: "default", name: "web", uid: "uid-web" },
                note: "spec.AddressTaken: 1 must be 2; next: change it",
            },
        ]);
    });

    it("come once for an unchanged problem, also later", () => {
        for (const wait of [0, minuteMs, 20 * minuteMs]) {
            now += wait;
            expect(report("AddressTaken")).toBe(undefined);
        }
        expect(reasons()).toEqual(["AddressTaken"]);
    });

    it("come in turn for several problems, ten minutes apart", () => {
        expect(report("AddressTaken", "InvalidEndpoint")).toBe(10 * minuteMs);
        now += 4 * minuteMs;
        expect(report("AddressTaken", "InvalidEndpoint")).toBe(6 * minuteMs);
        now += 6 * minuteMs;
        expect(report("AddressTaken", "InvalidEndpoint")).toBe(undefined);
        now += 60 * minuteMs;
        expect(report("AddressTaken", "InvalidEndpoint")).toBe(undefined);
        expect(reasons()).toEqual(["AddressTaken", "InvalidEndpoint"]);
    });

    it("come again for a problem that was away for ten minutes", () => {
        report("AddressTaken");
        now += 10 * minuteMs;
        report();
        report("AddressTaken");
        expect(reasons()).toEqual(["AddressTaken", "AddressTaken"]);
    });

    it("come at once for a Service that was made anew, but not for one that is good for a moment", () => {
        report("AddressTaken");
        expect(report()).toBe(undefined);
        expect(report("InvalidEndpoint")).toBe(10 * minuteMs);
        events.forget("default/web");
        expect(report("InvalidEndpoint")).toBe(undefined);
        expect(reasons()).toEqual(["AddressTaken", "InvalidEndpoint"]);
    });
});
