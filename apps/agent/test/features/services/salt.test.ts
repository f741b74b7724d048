import { describe, expect, it } from "@jest/globals";
import { saltOf } from "../../../src/features/services/salt.ts";
import { fnv1a } from "../../../src/platform/fnv1a.ts";
import { endpointsAt, portAt, serviceWith } from "./examples.ts";

const two = [portAt("10.96.0.1", endpointsAt("10.10.1.2", "10.10.1.3"))];
const one = [portAt("10.96.0.1", endpointsAt("10.10.1.2"))];

describe("the salt of a Service", () => {
    it.each([
        ["without affinity", serviceWith(two)],
        ["with one endpoint", serviceWith(one, { affinitySeconds: 60 })],
    ])("%s never changes", (_name, service) => {
        expect(saltOf(service, 60_500)).toEqual({ value: 0n, leftMs: undefined });
    });

    it.each([
        ["as often as its affinity times out", 60, 60_000],
        ["every ten seconds if it times out after a second", 1, 10_000],
    ])("changes %s, at a moment of its own", (_name, affinitySeconds, periodMs) => {
        const service = serviceWith(two, { affinitySeconds, uid: "a" });
        const first = periodMs - (fnv1a("a") % periodMs);
        expect(first % 10_000).toBeGreaterThan(0);
        expect(saltOf(service, first - 500)).toEqual({ value: 0n, leftMs: 500 });
        expect(saltOf(service, first)).toEqual({ value: 1n, leftMs: periodMs });
        expect(saltOf(service, first + periodMs - 1)).toEqual({ value: 1n, leftMs: 1 });
        expect(saltOf(service, first + periodMs)).toEqual({ value: 2n, leftMs: periodMs });
    });

    it("of a thousand Services of one timeout does not change at one moment", () => {
        const inSecond = new Map<number, number>();
        for (let at = 0; at < 1_000; at += 1) {
            const uid = `4f0c6d1e-7a52-4a0b-9d3c-${at.toString(16).padStart(12, "0")}`;
            const { leftMs = 0 } = saltOf(serviceWith(two, { affinitySeconds: 100, uid }), 1_764_000_000_000);
            const second = Math.floor(leftMs / 1_000);
            inSecond.set(second, (inSecond.get(second) ?? 0) + 1);
        }
        // ten in each on average
        expect(Math.max(...inSecond.values())).toBeLessThan(30);
    });
});
