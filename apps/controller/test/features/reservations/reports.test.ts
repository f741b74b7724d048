import { describe, expect, it } from "@jest/globals";
import { parseIp, RangeSet, rangeOf } from "@antrea/ip";
import { type MissingReservations } from "@antrea/ipam";
import { AllocationReader } from "../../../src/platform/allocations/allocation.ts";
import { type Demand } from "../../../src/features/reservations/demand.ts";
import { givenUpText, missingText } from "../../../src/features/reservations/reports.ts";
import { allocation, ownedBySet } from "../../fakes.ts";

const demand: Demand = {
    namespace: "ns",
    name: "web",
    uid: "u",
    replicas: 4,
    start: 0,
    reach: 256,
    hostNetwork: false,
    problems: [],
    deleting: false,
    pools: { names: ["a"], problems: [], from: "Pod" },
    fixed: [],
    networks: "",
};
const missing: MissingReservations = { count: 1, ordinals: [3], families: [4], pools: ["a", "b"], unknownPools: [] };

describe("why ordinals go without", () => {
    const reader = new AllocationReader();
    const allocations = new Map(
        [
            allocation("10.0.0.5", "a", { node: "n1" }),
            allocation("10.0.0.6", "a", { owner: ownedBySet("db", 2) }),
            allocation("10.0.0.7", "a", { owner: ownedBySet("web", 0, "u") }),
            allocation("10.0.0.8", "a", { owner: ownedBySet("web", 3, "before"), node: "n2" }),
        ].map((object) => [object.metadata?.name ?? "", reader.read(object)]),
    );
    const components = {
        allocations: { get: (name: string) => allocations.get(name) },
        pools: {
            get: () => ({}) as never,
            usable: () => RangeSet.of([rangeOf(parseIp("10.0.0.0"), parseIp("10.0.0.9"))]),
        },
    };
    const fixed = (address: string): Demand => ({ ...demand, fixed: [parseIp(address)] });

    it.each([
        ["a full pool", demand, missing, "ordinal 3: no IPv4 address is free in IPPool a, b. Add a range"],
        [
            "many ordinals",
            demand,
            { ...missing, count: 40, ordinals: [3, 4], families: [4, 6] as const },
            "ordinals 3, 4 and 38 more: no IPv4 and IPv6 address",
        ],
        ["an unknown pool", demand, { ...missing, unknownPools: ["b"] }, "ordinal 3: there is no IPPool b. Create it"],
        [
            "an address of a Pod",
            fixed("10.0.0.5"),
            missing,
            "10.0.0.5 of pod-ips is allocated to Pod ns/pod-10.0.0.5 on Node n1",
        ],
        [
            "an address of another set",
            fixed("10.0.0.6"),
            missing,
            "10.0.0.6 of pod-ips is allocated to StatefulSet ns/db (ordinal 2)",
        ],
        [
            "more replicas than addresses",
            fixed("10.0.0.7"),
            missing,
            "is one Pod's, and the StatefulSet has 4 replicas",
        ],
        [
            "the address of a Pod of the set before",
            { ...fixed("10.0.0.8"), replicas: 1 },
            missing,
            "10.0.0.8 of pod-ips is still held by Pod ns/pod-10.0.0.8 on Node n2",
        ],
        [
            "the address of an ordinal that it has no more",
            { ...fixed("10.0.0.7"), replicas: 1, start: 1 },
            missing,
            "10.0.0.7 of pod-ips is still held by StatefulSet ns/web (ordinal 0)",
        ],
        ["an address of no pool", fixed("10.9.0.7"), missing, "10.9.0.7 of pod-ips is not handed out by IPPool a, b"],
    ])("%s", (_name, asked, gap, text) => {
        expect(missingText(components, asked, gap)).toContain(text);
    });
});

describe("an address of pod-ips that came free meanwhile", () => {
    it("is no reason to warn", () => {
        const usable = RangeSet.of([rangeOf(parseIp("10.0.0.9"))]);
        const components = {
            allocations: { get: () => undefined },
            pools: { get: () => ({}) as never, usable: () => usable },
        };
        expect(missingText(components, { ...demand, fixed: [parseIp("10.0.0.9")] }, missing)).toBeUndefined();
    });
});

describe("why an ordinal loses its address", () => {
    const given = allocation("10.0.0.5", "a", { owner: ownedBySet("web", 2) });

    it.each<readonly [string, Demand, string]>([
        ["outside its pool", demand, "it is no longer in the ranges of IPPool a. The ordinal gets another address."],
        [
            "its pool is not named",
            { ...demand, pools: { names: ["b"], problems: [], from: "Namespace" } },
            "IPPool a is no longer named. The ordinal gets another address.",
        ],
        ["no pool is named", { ...demand, pools: undefined }, "IPPool a is no longer named."],
    ])("%s", (_name, asked, why) => {
        expect(givenUpText(asked, given)).toBe(`Address 10.0.0.5 is no longer reserved for ordinal 2: ${why}`);
    });
});
