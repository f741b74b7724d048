import { describe, expect, it } from "@jest/globals";
import { type IpAllocation } from "@antrea/crd";
import { formatIp, parseIp, type Family, type IpAddress } from "@antrea/ip";
import * as fc from "fast-check";
import { planReservations, type ListedPool, type ReservationInput, type ReservationPlan } from "../src/index.ts";
import { ordinalAllocation, setOf, type OrdinalAllocation } from "./objects.ts";

function listed(name: string, ...texts: readonly string[]): ListedPool {
    const usable = setOf(...texts);
    return { name, family: usable.first()?.family ?? 4, usable, covers: (ip) => usable.has(ip) };
}

function input(parts: Partial<ReservationInput> & { readonly others?: readonly string[] }): ReservationInput {
    const { others = [], allocations = [], ...rest } = parts;
    const taken = new Set([...others, ...allocations.map(({ spec }) => spec.address)]);
    return {
        set: { uid: "set-1", replicas: 3, start: 0, deleting: false },
        pools: [listed("p", "10.1.0.9-10.1.0.14")],
        fixed: [],
        allocations,
        isTaken: (ip) => taken.has(formatIp(ip)),
        ...rest,
    };
}

const living = { uid: "set-1", replicas: 3, start: 0, deleting: false };

function created(plan: ReservationPlan): readonly string[] {
    return plan.create.map(({ ip, pool, ordinal }) => `${ordinal} ${formatIp(ip)} ${pool}`);
}

function addresses(allocations: readonly IpAllocation[]): readonly string[] {
    return allocations.map(({ spec }) => spec.address);
}

const nothing = { create: [], adopt: [], release: [], givenUp: [], missing: undefined, beyond: 0, more: false };

describe("planReservations, of an address that its pool does not hand out for a while", () => {
    it("keeps it for its ordinal as long as it is written in the pool", () => {
        // It is a Node's, or a gateway, for now.
        const pool: ListedPool = {
            ...listed("p", "10.1.0.10-10.1.0.14"),
            covers: (ip) => setOf("10.1.0.9-10.1.0.14").has(ip),
        };
        const allocations = [ordinalAllocation("10.1.0.9", 0)];
        const plan = planReservations(input({ set: { ...living, replicas: 1 }, pools: [pool], allocations }));
        expect(plan).toEqual(nothing);
    });
});

describe("planReservations, of a set beyond its reach", () => {
    const many = { ...living, replicas: 1_000_000, start: 5, reach: 3 };
    const vast = listed("p", "fd00::/64");

    it("reserves for the ordinals within, and reports how many are beyond", () => {
        const plan = planReservations(input({ set: many, pools: [vast] }));
        expect(created(plan).map((text) => text.split(" ")[0])).toEqual(["5", "6", "7"]);
        expect(plan).toMatchObject({ beyond: 999_997, missing: undefined, more: false });
    });

    it("keeps what ordinals beyond have, and completes it", () => {
        const allocations = [ordinalAllocation("fd00::9", 500)];
        const plan = planReservations(input({ set: many, pools: [vast], allocations }));
        expect(plan).toMatchObject({ release: [], givenUp: [], beyond: 999_996 });
        expect(plan.create).toHaveLength(3);
        const both = planReservations(
            input({ set: many, pools: [vast, listed("q", "10.1.0.9-10.1.0.14")], allocations }),
        );
        expect(created(both)).toContain("5 10.1.0.9 q");
    });

    it("of 0 keeps what ordinals have, and neither adds to it nor misses any", () => {
        const none = { ...many, reach: 0, replicas: 9 };
        const allocations = [ordinalAllocation("fd00::9", 7), ordinalAllocation("fd00::a", 20)];
        const pools = [vast, listed("q", "10.1.0.9")];
        const plan = planReservations(input({ set: none, pools, allocations, unknownPools: ["gone"] }));
        expect(plan).toEqual({ ...nothing, release: [allocations[1]] });
    });

    it("counts none beyond when the set names no pool", () => {
        expect(planReservations(input({ set: many, pools: [] }))).toEqual(nothing);
    });

    it("reports what is missing of the ordinals within only", () => {
        const plan = planReservations(input({ set: many, pools: [listed("p", "fd00::1")] }));
        expect(created(plan)).toEqual(["5 fd00::1 p"]);
        expect(plan.missing).toMatchObject({ count: 2, ordinals: [6, 7] });
    });
});

describe("planReservations, of an address that its pool does not hand out for a while", () => {
    it("keeps it for its ordinal as long as it is written in the pool", () => {
        // It is a Node's, or a gateway, for now.
        const pool: ListedPool = {
            ...listed("p", "10.1.0.10-10.1.0.14"),
            covers: (ip) => setOf("10.1.0.9-10.1.0.14").has(ip),
        };
        const allocations = [ordinalAllocation("10.1.0.9", 0)];
        const plan = planReservations(input({ set: { ...living, replicas: 1 }, pools: [pool], allocations }));
        expect(plan).toEqual(nothing);
    });
});

describe("planReservations creates", () => {
    it.each<readonly [string, Parameters<typeof input>[0], readonly string[]]>([
        ["the lowest addresses for the lowest ordinals", {}, ["0 10.1.0.9 p", "1 10.1.0.10 p", "2 10.1.0.11 p"]],
        ["past taken ones", { others: ["10.1.0.9", "10.1.0.11"] }, ["0 10.1.0.10 p", "1 10.1.0.12 p", "2 10.1.0.13 p"]],
        [
            "from the first ordinal of the set",
            { set: { ...living, start: 5, replicas: 2 } },
            ["5 10.1.0.9 p", "6 10.1.0.10 p"],
        ],
        ["nothing for no replicas", { set: { ...living, replicas: 0 } }, []],
        ["nothing without a pool", { pools: [] }, []],
        [
            "from the pools in list order",
            { pools: [listed("one", "10.1.0.9"), listed("two", "10.2.0.9-10.2.0.20")] },
            ["0 10.1.0.9 one", "1 10.2.0.9 two", "2 10.2.0.10 two"],
        ],
        [
            "both families",
            { set: { ...living, replicas: 2 }, pools: [listed("p", "10.1.0.9-10.1.0.14"), listed("q", "fd00::/64")] },
            ["0 10.1.0.9 p", "0 fd00:: q", "1 10.1.0.10 p", "1 fd00::1 q"],
        ],
        [
            "an address once where pools of the list overlap",
            { pools: [listed("one", "10.1.0.9-10.1.0.10"), listed("two", "10.1.0.9-10.1.0.11")] },
            ["0 10.1.0.9 one", "1 10.1.0.10 one", "2 10.1.0.11 two"],
        ],
        ["what ordinals lack", { allocations: [ordinalAllocation("10.1.0.9", 1)] }, ["0 10.1.0.10 p", "2 10.1.0.11 p"]],
        [
            "the family that an ordinal lacks",
            {
                set: { ...living, replicas: 1 },
                pools: [listed("p", "10.1.0.9-10.1.0.14"), listed("q", "fd00::/64")],
                allocations: [ordinalAllocation("10.1.0.12", 0)],
            },
            ["0 fd00:: q"],
        ],
        ["the fixed address", { set: { ...living, replicas: 1 }, fixed: [parseIp("10.1.0.12")] }, ["0 10.1.0.12 p"]],
        [
            "the fixed address of one family, any of the other",
            {
                set: { ...living, replicas: 1 },
                pools: [listed("p", "10.1.0.9-10.1.0.14"), listed("q", "fd00::/64")],
                fixed: [parseIp("fd00::77")],
            },
            ["0 10.1.0.9 p", "0 fd00::77 q"],
        ],
        [
            "the fixed address from the pool that has it",
            {
                set: { ...living, replicas: 1 },
                pools: [listed("one", "10.1.0.9"), listed("two", "10.2.0.9")],
                fixed: [parseIp("10.2.0.9")],
            },
            ["0 10.2.0.9 two"],
        ],
    ])("%s", (_name, parts, expected) => {
        const plan = planReservations(input(parts));
        expect(created(plan)).toEqual(expected);
        expect(plan).toMatchObject({ adopt: [], release: [], missing: undefined, more: false });
    });

    it("part of a large set at a time", () => {
        const parts = { set: { ...living, replicas: 2_000_000_000 }, pools: [listed("q", "fd00::/64")], limit: 10 };
        const plan = planReservations(input(parts));
        expect(plan.create).toHaveLength(10);
        expect(plan).toMatchObject({ more: true, missing: undefined });
        const allocations = plan.create.map(({ ip, ordinal }) =>
            ordinalAllocation(formatIp(ip), ordinal, { pool: "q" }),
        );
        const next = planReservations(input({ ...parts, allocations }));
        expect(next.create[0]).toEqual({ ip: parseIp("fd00::a"), ordinal: 10, pool: "q" });
    });
});

describe("planReservations misses", () => {
    it("ordinals above what is free", () => {
        const plan = planReservations(
            input({ set: { ...living, replicas: 2_000_000_000 }, pools: [listed("p", "10.1.0.9-10.1.0.10")] }),
        );
        expect(created(plan)).toEqual(["0 10.1.0.9 p", "1 10.1.0.10 p"]);
        expect(plan.missing).toMatchObject({ count: 1_999_999_998, families: [4], pools: ["p"], unknownPools: [] });
        expect(plan.missing?.ordinals).toEqual(Array.from({ length: 32 }, (_, at) => at + 2));
    });

    it("both families where one is exhausted", () => {
        const pools = [listed("p", "10.1.0.9-10.1.0.14"), listed("q", "fd00::1"), listed("r", "fd00::2")];
        const plan = planReservations(input({ pools }));
        expect(created(plan)).toEqual(["0 10.1.0.9 p", "0 fd00::1 q", "1 10.1.0.10 p", "1 fd00::2 r"]);
        expect(plan.missing).toEqual({ count: 1, ordinals: [2], families: [6], pools: ["q", "r"], unknownPools: [] });
    });

    it("all while a pool of the list does not exist, and keeps what is there", () => {
        const plan = planReservations(
            input({ unknownPools: ["later"], allocations: [ordinalAllocation("10.1.0.9", 1)] }),
        );
        expect(plan).toEqual({
            ...nothing,
            missing: { count: 2, ordinals: [0, 2], families: [], pools: ["later"], unknownPools: ["later"] },
        });
    });

    it("all while none of its pools exists", () => {
        const plan = planReservations(input({ pools: [], unknownPools: ["later"] }));
        expect(plan.missing).toMatchObject({ count: 3, ordinals: [0, 1, 2], families: [] });
    });

    it("a fixed address that someone else has", () => {
        const parts = { set: { ...living, replicas: 1 }, fixed: [parseIp("10.1.0.12")] };
        expect(planReservations(input({ ...parts, others: ["10.1.0.12"] }))).toMatchObject({
            create: [],
            missing: { count: 1, ordinals: [0], families: [4], pools: ["p"] },
        });
    });

    it("a fixed address that no pool of the list hands out", () => {
        const plan = planReservations(input({ set: { ...living, replicas: 1 }, fixed: [parseIp("10.1.0.99")] }));
        expect(plan).toMatchObject({ create: [], missing: { count: 1 } });
    });

    it("further ordinals where a fixed address is asked for", () => {
        const plan = planReservations(input({ fixed: [parseIp("10.1.0.12")] }));
        expect(created(plan)).toEqual(["0 10.1.0.12 p"]);
        expect(plan.missing).toMatchObject({ count: 2, ordinals: [1, 2] });
    });

    it("still completes ordinals that lack the family which is left", () => {
        const pools = [listed("p", "10.1.0.9"), listed("q", "fd00::1-fd00::9")];
        const allocations = [ordinalAllocation("10.1.0.9", 2, { generation: 3 })];
        const plan = planReservations(input({ pools, allocations }));
        expect(created(plan)).toEqual(["2 fd00::1 q"]);
        expect(plan.missing).toMatchObject({ count: 2, ordinals: [0, 1], families: [4] });
        expect(plan.release).toEqual([]);
    });
});

describe("planReservations releases", () => {
    const used: OrdinalAllocation = { used: true };

    it.each<readonly [string, Parameters<typeof input>[0], readonly string[]]>([
        [
            "every reserved one of a set that is gone",
            {
                set: undefined,
                allocations: [ordinalAllocation("10.1.0.9", 0), ordinalAllocation("10.1.0.10", 1, used)],
            },
            ["10.1.0.9"],
        ],
        [
            "every reserved one of a set that is being deleted",
            {
                set: { ...living, deleting: true },
                allocations: [ordinalAllocation("10.1.0.9", 0), ordinalAllocation("10.1.0.10", 1, used)],
            },
            ["10.1.0.9"],
        ],
        [
            "ordinals above the replicas once no Pod uses them",
            {
                set: { ...living, replicas: 1 },
                allocations: [
                    ordinalAllocation("10.1.0.9", 0),
                    ordinalAllocation("10.1.0.10", 1),
                    ordinalAllocation("10.1.0.11", 2, used),
                ],
            },
            ["10.1.0.10"],
        ],
        [
            "ordinals below the start",
            {
                set: { ...living, replicas: 1, start: 2 },
                allocations: [
                    ordinalAllocation("10.1.0.9", 1),
                    ordinalAllocation("10.1.0.10", 2),
                    ordinalAllocation("10.1.0.11", 3),
                ],
            },
            ["10.1.0.9", "10.1.0.11"],
        ],
        [
            "the younger of two reserved ones",
            {
                set: { ...living, replicas: 1 },
                allocations: [
                    ordinalAllocation("10.1.0.9", 0, { created: "2026-01-02T00:00:00Z" }),
                    ordinalAllocation("10.1.0.10", 0),
                ],
            },
            ["10.1.0.9"],
        ],
        [
            "the higher of two of one age",
            {
                set: { ...living, replicas: 1 },
                allocations: [ordinalAllocation("10.1.0.10", 0), ordinalAllocation("10.1.0.9", 0)],
            },
            ["10.1.0.10"],
        ],
        [
            "the reserved one of two, though older",
            {
                set: { ...living, replicas: 1 },
                allocations: [
                    ordinalAllocation("10.1.0.9", 0),
                    ordinalAllocation("10.1.0.10", 0, { used: true, created: "2026-01-02T00:00:00Z" }),
                ],
            },
            ["10.1.0.9"],
        ],
        [
            "neither of two that Pods use",
            {
                set: { ...living, replicas: 1 },
                allocations: [ordinalAllocation("10.1.0.9", 0, used), ordinalAllocation("10.1.0.10", 0, used)],
            },
            [],
        ],
        [
            "an allocation without an ordinal",
            { set: { ...living, replicas: 0 }, allocations: [ordinalAllocation("10.1.0.9", -1)] },
            ["10.1.0.9"],
        ],
    ])("%s", (_name, parts, expected) => {
        const plan = planReservations(input(parts));
        expect(addresses(plan.release)).toEqual(expected);
        expect(plan.create).toEqual([]);
        expect(plan.adopt).toEqual([]);
    });

    it("an unused half when the other family is exhausted, but never one that was in use", () => {
        const pools = [listed("p", "10.1.0.9-10.1.0.14"), listed("q", "fd00::1")];
        const parts = { set: { ...living, replicas: 1 }, pools, others: ["fd00::1"] };
        const fresh = planReservations(input({ ...parts, allocations: [ordinalAllocation("10.1.0.9", 0)] }));
        expect(addresses(fresh.release)).toEqual(["10.1.0.9"]);
        expect(fresh.missing).toMatchObject({ families: [6] });
        for (const allocation of [
            ordinalAllocation("10.1.0.9", 0, { generation: 2 }),
            ordinalAllocation("10.1.0.9", 0, used),
        ]) {
            expect(planReservations(input({ ...parts, allocations: [allocation] })).release).toEqual([]);
        }
    });

    it("a reserved address that is not the fixed one, and reserves that", () => {
        const allocations = [ordinalAllocation("10.1.0.9", 0)];
        const plan = planReservations(
            input({ set: { ...living, replicas: 1 }, fixed: [parseIp("10.1.0.12")], allocations }),
        );
        expect(addresses(plan.release)).toEqual(["10.1.0.9"]);
        expect(created(plan)).toEqual(["0 10.1.0.12 p"]);
    });
});

describe("planReservations gives up", () => {
    const small = { pools: [listed("p", "10.1.0.9-10.1.0.14")], set: { ...living, replicas: 2 } };

    it("a reserved address that its pool does not have any more, and reserves another", () => {
        const allocations = [ordinalAllocation("10.1.0.20", 0, { generation: 3 }), ordinalAllocation("10.1.0.9", 1)];
        const plan = planReservations(input({ ...small, allocations }));
        expect(addresses(plan.givenUp)).toEqual(["10.1.0.20"]);
        expect(addresses(plan.release)).toEqual(["10.1.0.20"]);
        expect(created(plan)).toEqual(["0 10.1.0.10 p"]);
    });

    it("a reserved address of a pool that is not named any more, and reserves another", () => {
        const allocations = [ordinalAllocation("10.2.0.9", 0, { pool: "other" }), ordinalAllocation("10.1.0.9", 1)];
        const plan = planReservations(input({ ...small, allocations }));
        expect(addresses(plan.givenUp)).toEqual(["10.2.0.9"]);
        expect(created(plan)).toEqual(["0 10.1.0.10 p"]);
        expect(addresses(planReservations(input({ ...small, allocations, pools: [] })).givenUp)).toEqual([
            "10.2.0.9",
            "10.1.0.9",
        ]);
    });

    it("no address that a Pod uses, wherever it lies, and reserves no second one for its ordinal", () => {
        const allocations = [
            ordinalAllocation("10.1.0.20", 0, { used: true }),
            ordinalAllocation("10.2.0.9", 1, { used: true, pool: "other" }),
        ];
        expect(planReservations(input({ ...small, allocations }))).toEqual(nothing);
    });

    it("no address of a pool that is gone for now: its ranges are not known", () => {
        const allocations = [ordinalAllocation("10.2.0.9", 0, { pool: "later" }), ordinalAllocation("10.1.0.9", 1)];
        expect(planReservations(input({ ...small, allocations, unknownPools: ["later"] }))).toEqual(nothing);
    });

    it("one family of an ordinal that keeps the other, which was in use", () => {
        const allocations = [
            ordinalAllocation("10.1.0.20", 0, { generation: 3 }),
            ordinalAllocation("fd00::1", 0, { pool: "q", generation: 3 }),
        ];
        const pools = [...small.pools, listed("q", "fd00::1-fd00::9")];
        const plan = planReservations(input({ pools, allocations, set: { ...living, replicas: 1 } }));
        expect(addresses(plan.release)).toEqual(["10.1.0.20"]);
        expect(created(plan)).toEqual(["0 10.1.0.9 p"]);
    });

    it("nothing more than it frees: what is above the replicas is only freed", () => {
        const plan = planReservations(input({ ...small, allocations: [ordinalAllocation("10.1.0.20", 7)] }));
        expect(addresses(plan.release)).toEqual(["10.1.0.20"]);
        expect(plan.givenUp).toEqual([]);
    });
});

describe("planReservations adopts", () => {
    const dead: OrdinalAllocation = { uid: "set-0" };

    it("allocations of a set that was there before under the name, used or not", () => {
        const allocations = [
            ordinalAllocation("10.1.0.13", 0, dead),
            ordinalAllocation("10.1.0.14", 1, { ...dead, used: true }),
        ];
        const plan = planReservations(input({ allocations }));
        expect(addresses(plan.adopt)).toEqual(["10.1.0.13", "10.1.0.14"]);
        expect(created(plan)).toEqual(["2 10.1.0.9 p"]);
        expect(plan.release).toEqual([]);
    });

    it("no allocation of a pool that the template does not name", () => {
        const allocations = [
            ordinalAllocation("10.2.0.9", 0, { ...dead, pool: "other" }),
            ordinalAllocation("10.2.0.10", 1, { ...dead, pool: "other", used: true }),
        ];
        const plan = planReservations(input({ set: { ...living, replicas: 2 }, allocations }));
        expect(plan.adopt).toEqual([]);
        expect(addresses(plan.release)).toEqual(["10.2.0.9"]);
        expect(created(plan)).toEqual(["0 10.1.0.9 p", "1 10.1.0.10 p"]);
    });

    it("allocations of a pool that the template names and that is gone for now", () => {
        const allocations = [ordinalAllocation("10.2.0.9", 0, { ...dead, pool: "later" })];
        const plan = planReservations(input({ unknownPools: ["later"], allocations }));
        expect(addresses(plan.adopt)).toEqual(["10.2.0.9"]);
    });

    it("nothing of its own: what a Pod of a living set uses it keeps, whatever the template names now", () => {
        const allocations = [
            ordinalAllocation("10.2.0.9", 0, { pool: "other", used: true }),
            ordinalAllocation("10.2.0.10", 1, { pool: "other", used: true }),
        ];
        expect(planReservations(input({ set: { ...living, replicas: 2 }, allocations }))).toEqual(nothing);
        expect(planReservations(input({ set: { ...living, replicas: 2 }, allocations, pools: [] }))).toEqual(nothing);
    });

    it("no allocation of ordinals that the set does not have", () => {
        const allocations = [
            ordinalAllocation("10.1.0.9", 7, dead),
            ordinalAllocation("10.1.0.10", 8, { ...dead, used: true }),
        ];
        const plan = planReservations(input({ set: { ...living, replicas: 0 }, allocations }));
        expect(plan).toEqual({ ...nothing, release: [allocations[0]] });
    });
});

describe("planReservations, whatever there is", () => {
    const pools = [
        listed("one", "10.1.0.9-10.1.0.13"),
        listed("six", "fd00::1-fd00::4"),
        listed("two", "10.2.0.9-10.2.0.11"),
        listed("sixty", "fd00::4-fd00::6"),
    ];
    const somewhere = [
        "10.1.0.9",
        "10.1.0.10",
        "10.1.0.11",
        "10.1.0.13",
        "10.2.0.9",
        "10.2.0.11",
        "10.9.0.9",
        "fd00::1",
        "fd00::3",
        "fd00::4",
        "fd00::6",
    ];
    const allocation = fc.record({
        address: fc.constantFrom(...somewhere),
        ordinal: fc.integer({ min: -1, max: 6 }),
        pool: fc.constantFrom("one", "two", "six", "sixty", "gone"),
        uid: fc.constantFrom("set-0", "set-1"),
        used: fc.boolean(),
        generation: fc.integer({ min: 1, max: 2 }),
        created: fc.constantFrom("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"),
    });
    const anything = fc.record({
        replicas: fc.integer({ min: 0, max: 7 }),
        start: fc.integer({ min: 0, max: 2 }),
        pools: fc.subarray(pools),
        fixed: fc.constantFrom<readonly string[]>(
            [],
            [],
            ["10.1.0.11"],
            ["fd00::4"],
            ["10.2.0.11", "fd00::2"],
            ["10.9.9.9"],
        ),
        allocations: fc.uniqueArray(allocation, { selector: ({ address }) => address, maxLength: 8 }),
        others: fc.subarray(["10.1.0.12", "fd00::2", "10.2.0.10", "fd00::5"]),
        limit: fc.constantFrom(1, 3, 1000),
    });

    it("gives each ordinal both families or neither, no address twice, and settles", () => {
        fc.assert(
            fc.property(anything, ({ replicas, start, fixed, ...parts }) => {
                const allocations = parts.allocations.map(({ address, ordinal, ...options }) =>
                    ordinalAllocation(address, ordinal, options),
                );
                const before = input({
                    ...parts,
                    allocations,
                    set: { uid: "set-1", replicas, start, deleting: false },
                    fixed: fixed.map(parseIp),
                });
                let now = before;
                let plan = planReservations(now);
                let rounds = 0;
                while (!isEmpty(plan)) {
                    rounds += 1;
                    expect(rounds).toBeLessThan(20);
                    checkPlan(now, plan);
                    now = applied(now, plan, parts.others);
                    plan = planReservations(now);
                }
                checkResult(now, plan);
            }),
            { numRuns: 300 },
        );
    });

    function isEmpty({ create, adopt, release, more }: ReservationPlan): boolean {
        return create.length === 0 && adopt.length === 0 && release.length === 0 && !more;
    }

    function checkPlan(now: ReservationInput, plan: ReservationPlan): void {
        const texts = plan.create.map(({ ip }) => formatIp(ip));
        expect(new Set(texts).size).toBe(texts.length);
        const slots = plan.create.map(({ ip, ordinal }) => `${ordinal} ${ip.family}`);
        expect(new Set(slots).size).toBe(slots.length);
        for (const { ip, pool, ordinal } of plan.create) {
            expect(now.isTaken(ip)).toBe(false);
            expect(now.pools.find(({ name }) => name === pool)?.usable.has(ip)).toBe(true);
            expect(ordinal >= now.set!.start && ordinal < now.set!.start + now.set!.replicas).toBe(true);
        }
        expect(plan.release.every(({ spec }) => spec.state === "Reserved")).toBe(true);
        expect(plan.adopt.every(({ spec }) => spec.owner.uid === "set-0")).toBe(true);
        expect(plan.adopt.filter((one) => plan.release.includes(one))).toEqual([]);
        expect([...plan.adopt, ...plan.release].every((one) => now.allocations.includes(one))).toBe(true);
        expect(plan.create.map(({ ordinal }) => ordinal)).toEqual(
            plan.create.map(({ ordinal }) => ordinal).sort((a, b) => a - b),
        );
    }

    function applied(now: ReservationInput, plan: ReservationPlan, others: readonly string[]): ReservationInput {
        const kept = now.allocations
            .filter((one) => !plan.release.includes(one))
            .map((one) => (plan.adopt.includes(one) ? adopted(one) : one));
        const added = plan.create.map(({ ip, pool, ordinal }) => ordinalAllocation(formatIp(ip), ordinal, { pool }));
        return input({
            ...now,
            allocations: [...kept, ...added],
            others,
            isTaken: isTakenBy([...kept, ...added], others),
        });
    }

    function adopted(one: IpAllocation): IpAllocation {
        const metadata = { ...one.metadata, generation: (one.metadata?.generation ?? 1) + 1 };
        return { metadata, spec: { ...one.spec, owner: { ...one.spec.owner, uid: "set-1" } } };
    }

    function isTakenBy(allocations: readonly IpAllocation[], others: readonly string[]): (ip: IpAddress) => boolean {
        const taken = new Set([...others, ...addresses(allocations)]);
        return (ip) => taken.has(formatIp(ip));
    }

    // What holds when nothing is left to do.
    function checkResult(now: ReservationInput, plan: ReservationPlan): void {
        const { start, replicas } = now.set!;
        const families = [...new Set(now.pools.map(({ family }) => family))];
        let missing = 0;
        for (let ordinal = start; ordinal < start + replicas; ordinal += 1) {
            const own = now.allocations.filter(
                ({ spec }) => spec.owner.index === ordinal && fits(spec.address, spec.owner.uid),
            );
            const has = families.filter((family) => own.some(({ spec }) => parseIp(spec.address).family === family));
            const sticky = own.some(({ spec, metadata }) => spec.state === "Allocated" || metadata?.generation !== 1);
            if (has.length < families.length) {
                missing += 1;
                if (!sticky) expect(has).toEqual([]);
            }
            for (const family of families) {
                const reserved = own.filter(
                    ({ spec }) => spec.state === "Reserved" && parseIp(spec.address).family === family,
                );
                expect(reserved.length).toBeLessThanOrEqual(1);
            }
        }
        expect(plan.missing?.count ?? 0).toBe(missing);
        // Nothing is missed while every family that is lacked has a free address.
        if (missing > 0) expect(plan.missing!.families.some((family) => !hasFree(family))).toBe(true);

        function fits(address: string, uid: string | undefined): boolean {
            const ip = parseIp(address);
            return uid === "set-1" && now.fixed.every((one) => one.family !== ip.family || one.value === ip.value);
        }
        function hasFree(family: Family): boolean {
            const fixed = now.fixed.find((ip) => ip.family === family);
            return now.pools.some(
                (pool) =>
                    pool.family === family &&
                    [...pool.usable].some(
                        (ip) => !now.isTaken(ip) && (fixed === undefined || fixed.value === ip.value),
                    ),
            );
        }
    }
});

describe("planReservations, of addresses for interfaces of networks", () => {
    const set = { ...living, replicas: 1 };
    const own = ordinalAllocation("10.1.0.9", 0);
    const kept = ordinalAllocation("10.9.0.9", 0, { pool: "other", interface: "net1" });
    const alike = ordinalAllocation("10.1.0.10", 0, { interface: "net2" });

    it("keeps them beside that of the Pod network, of any pool, and plans no new ones", () => {
        expect(planReservations(input({ set, allocations: [own, kept, alike] }))).toEqual(nothing);
        // They are no address of the ordinal on the Pod network.
        expect(created(planReservations(input({ set, allocations: [kept, alike] })))).toEqual(["0 10.1.0.9 p"]);
    });

    it("releases the unused ones that no Pod can get: of ordinals out of range, and of interfaces that the Pods cannot have", () => {
        const beyond = ordinalAllocation("10.9.0.10", 1, { pool: "other", interface: "net1" });
        const before = ordinalAllocation("10.9.0.11", 4, { pool: "other", interface: "net1" });
        const used = ordinalAllocation("10.9.0.12", 1, { pool: "other", interface: "net2", used: true });
        const allocations = [own, kept, alike, beyond, before, used];
        const mayHaveInterface = (name: string): boolean => name === "net1";
        const plan = planReservations(input({ set, allocations, mayHaveInterface }));
        expect(addresses(plan.release)).toEqual(["10.1.0.10", "10.9.0.10", "10.9.0.11"]);
        expect(plan.givenUp).toEqual([]);
        const gone = planReservations(input({ set: undefined, allocations }));
        expect(addresses(gone.release)).toEqual(addresses(allocations.filter((one) => one !== used)));
    });

    it("releases what the ordinal's Pod did not take, once it has been so for a while", () => {
        const used = ordinalAllocation("10.9.0.12", 0, { pool: "other", interface: "net1", used: true });
        const asked: string[] = [];
        const allocations = [own, kept, alike, used];
        const isLeftOver = ({ spec }: IpAllocation): boolean => asked.push(spec.address) > 1;
        const plan = (): ReservationPlan => planReservations(input({ set, allocations, isLeftOver }));
        expect(addresses(plan().release)).toEqual([]);
        expect(addresses(plan().release)).toEqual(["10.9.0.9"]);
        // Of net2 nothing is in use, and that of the Pod network has rules of its own.
        expect(asked).toEqual(["10.9.0.9", "10.9.0.9"]);
    });

    it("assigns those that are kept to the new set of the name", () => {
        const earlier = ordinalAllocation("10.9.0.9", 0, { pool: "other", interface: "net1", uid: "before" });
        const unneeded = ordinalAllocation("10.9.0.10", 1, { pool: "other", interface: "net1", uid: "before" });
        const plan = planReservations(input({ set, allocations: [own, earlier, unneeded] }));
        expect([addresses(plan.adopt), addresses(plan.release)]).toEqual([["10.9.0.9"], ["10.9.0.10"]]);
    });
});
