import { describe, expect, it } from "@jest/globals";
import { type IpPool } from "@antrea/crd";
import { RangeSet, parsePrefix, prefixRange } from "@antrea/ip";
import { readPool } from "@antrea/ipam";
import { evaluate, turnedBad, type Findings } from "../../../src/features/pool-status/evaluate.ts";

function pool(start: string, end: string): IpPool {
    const ipRanges = [{ start, end, gateway: "10.0.0.1", prefixLength: 24 }];
    return { metadata: { name: "p" }, spec: { ipVersion: 4, ipRanges } };
}

function set(...cidrs: readonly string[]): RangeSet {
    return RangeSet.of(cidrs.map((cidr) => prefixRange(parsePrefix(cidr))));
}

const good: Findings = {
    generation: 3,
    pool: readPool(pool("10.0.0.2", "10.0.0.9")),
    usage: { total: 8, used: 1, reserved: 2, free: 5 },
    freeBlocks: ["10.0.0.0/24"],
    overlaps: [],
    further: [],
    finalizers: [],
};
const early = new Date("2026-01-01T00:00:00.123Z");
const later = new Date("2026-01-02T00:00:00Z");

describe("evaluate", () => {
    it("reports that all is well", () => {
        expect(evaluate(good, undefined, early)).toEqual({
            usage: good.usage,
            freeBlocks: ["10.0.0.0/24"],
            observedGeneration: 3,
            conditions: [
                ["Ready", "True", "Usable"],
                ["Exhausted", "False", "FreeAddresses"],
                ["Overlapping", "False", "NoSharedAddress"],
            ].map(([type, status, reason]) => ({
                type,
                status,
                reason,
                message: expect.any(String),
                lastTransitionTime: "2026-01-01T00:00:00Z",
                observedGeneration: 3,
            })),
        });
    });

    it("keeps the time of a condition whose status stays, whatever it reports", () => {
        const before = evaluate(good, undefined, early);
        const bad = { ...good, usage: { total: 8, used: 8, reserved: 0, free: 0 } };
        const after = evaluate(bad, before, later);
        expect(
            after.conditions?.map(({ type, lastTransitionTime }) => `${type} ${lastTransitionTime.slice(8, 10)}`),
        ).toEqual(["Ready 01", "Exhausted 02", "Overlapping 01"]);
    });

    it.each([
        [
            "ranges that cannot be read",
            { pool: readPool(pool("10.0.0.9", "10.0.0.2")) },
            "Ready",
            "False",
            "UnreadableRanges",
            "spec.ipRanges[0].start",
        ],
        [
            "no address",
            { usage: { total: 0, used: 0, reserved: 0, free: 0 } },
            "Ready",
            "False",
            "NoAddresses",
            "Add a range",
        ],
        [
            "no free address",
            { usage: { total: 8, used: 6, reserved: 2, free: 0 } },
            "Exhausted",
            "True",
            "NoFreeAddress",
            "All 8 addresses",
        ],
        [
            "an overlap",
            { overlaps: [{ pool: "q", common: set("10.0.0.8/31", "10.0.0.2/32") }] },
            "Overlapping",
            "True",
            "SharedAddresses",
            "10.0.0.2, 10.0.0.8-10.0.0.9 with IPPool q",
        ],
    ])("reports %s", (_name, findings, type, status, reason, text) => {
        const { conditions = [] } = evaluate({ ...good, ...findings }, undefined, early);
        const found = conditions.find((condition) => condition.type === type);
        expect(found).toMatchObject({ status, reason });
        expect(found?.message).toContain(text);
    });

    it("cuts a long list of overlapping pools", () => {
        const further = Array.from({ length: 7 }, (_, index) => ({ node: `n${index}`, common: set("10.0.0.4/32") }));
        expect(evaluate({ ...good, further }, undefined, early).conditions?.[0]).toMatchObject({
            status: "True",
            reason: "NodeAddressesNotHeld",
            message: expect.stringContaining("10.0.0.4 of Node n4 and those of 2 more Nodes. Check"),
        });
        const overlaps = Array.from({ length: 40 }, (_, index) => ({ pool: `q${index}`, common: set("10.0.0.4/32") }));
        const message = evaluate({ ...good, overlaps }, undefined, early).conditions?.[2]?.message ?? "";
        expect(message).toContain("with 35 more pools");
        expect(message.length).toBeLessThan(600);
    });
});

describe("turnedBad", () => {
    const exhausted = { ...good, usage: { total: 8, used: 8, reserved: 0, free: 0 } };
    const overlapping = (name: string): Findings => ({
        ...good,
        overlaps: [{ pool: name, common: set("10.0.0.4/32") }],
    });

    it.each([
        ["at first", exhausted, undefined, ["Exhausted"]],
        ["when it was well", exhausted, good, ["Exhausted"]],
        ["not again", exhausted, { ...exhausted, usage: { ...exhausted.usage, total: 9 } }, []],
        ["when another pool overlaps", overlapping("b"), overlapping("a"), ["Overlapping"]],
        ["not when it is well", good, exhausted, []],
        ["not what Ready reports", { ...good, usage: { total: 0, used: 0, reserved: 0, free: 1 } }, good, []],
    ])("%s", (_name, after, before, expected) => {
        const old = before && evaluate(before, undefined, early);
        expect(turnedBad(evaluate(after, old, later), old).map(({ type }) => type)).toEqual(expected);
    });
});
