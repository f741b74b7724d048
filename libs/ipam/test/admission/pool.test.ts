import { describe, expect, it } from "@jest/globals";
import { type IpAllocation, type IpPool, type IpRangeSpec } from "@antrea/crd";
import { formatRangeSet, parseIp, parsePrefix, RangeIndex, RangeSet } from "@antrea/ip";
import * as fc from "fast-check";
import * as ipam from "../../src/index.ts";
import {
    holderText,
    isUse,
    namesPool,
    notInUse,
    readPool,
    refusalsText,
    refusalText,
    type PoolChange,
    type PoolContext,
    type PoolUse,
    type Verdict,
} from "../../src/index.ts";
import {
    exclusions,
    gatewayAllocation,
    ipPool,
    nodeAllocation,
    ordinalAllocation,
    podAllocation,
    range,
    type ClusterTexts,
} from "../objects.ts";

function context(
    others: readonly IpPool[] = [],
    cluster: ClusterTexts & { readonly clusterCidrs?: readonly string[] } = {},
): PoolContext {
    const index = new RangeIndex<undefined>();
    for (const other of others) {
        const { name, subnets } = readPool(other);
        index.set(
            name,
            subnets.map((subnet) => subnet.range),
            undefined,
        );
    }
    const pools = new Map(others.map((other) => [other.metadata?.name ?? "", readPool(other)]));
    return {
        overlapping: (one) => index.overlapping(one),
        pool: (name) => pools.get(name),
        clusterCidrs: (cluster.clusterCidrs ?? []).map((text) => parsePrefix(text)),
        exclusions: exclusions(cluster),
    };
}

// The rules on objects as they are stored.
const checkPoolCreate = (pool: IpPool, ...rest: [PoolContext, Pick<PoolUse, "allocations">]): Verdict =>
    ipam.checkPoolCreate(readPool(pool), ...rest);
const checkPoolUpdate = (old: IpPool, pool: IpPool, ...rest: [PoolContext, PoolUse]): Verdict =>
    ipam.checkPoolUpdate(readPool(old), readPool(pool), ...rest);
const checkPoolDelete = (pool: IpPool, use: PoolUse): Verdict => ipam.checkPoolDelete(readPool(pool), use);
const comparePools = (old: IpPool, pool: IpPool): PoolChange => ipam.comparePools(readPool(old), readPool(pool));
const newGateways = (pool: IpPool, old?: IpPool): RangeSet => ipam.newGateways(readPool(pool), old && readPool(old));

function errorsOf({ errors }: Verdict): readonly string[] {
    return errors.map(refusalText);
}

const claimed: PoolUse = { allocations: [podAllocation("10.1.0.9", "web")], references: [] };
const reserved: PoolUse = { allocations: [ordinalAllocation("10.1.0.9", 0)], references: [] };
const named: PoolUse = { allocations: [], references: ["Namespace a"] };
const nodeOnly: PoolUse = { allocations: [nodeAllocation("10.1.0.9", "n1")], references: [] };

describe("a range without VLAN, with bridging mode", () => {
    const bridgedNodes = ["10.1.0.10", "10.1.0.11", "fd00::10"].map((text) => parseIp(text));
    const warnings = (pool: IpPool): readonly string[] =>
        checkPoolCreate(pool, { ...context(), bridgedNodes }, notInUse).warnings;

    it("is in the subnet of the Nodes, or is warned about", () => {
        expect(warnings(ipPool("p", "10.1.0.128/29"))).toEqual([]);
        expect(warnings(ipPool("p", "fd00::/64"))).toEqual([]);
        const far = range("10.2.0.8/29", { gateway: "10.2.0.1" });
        expect(warnings(ipPool("p", far))).toEqual([
            "spec.ipRanges[0]: has no vlan, so with bridging mode its Pods are in the subnet of the Nodes, and no Node has " +
                "an address in 10.2.0.0/24: set the vlan of 10.2.0.0/24, or take addresses of the Nodes' subnet",
        ]);
        expect(warnings(ipPool("p", { ...far, vlan: 7 }))).toEqual([]);
        expect(checkPoolCreate(ipPool("p", far), context(), notInUse).warnings).toEqual([]);
    });
});

describe("a CIDR with host bits", () => {
    const meant = (cidr: string, prefix: string, at = 0): string =>
        `spec.ipRanges[${at}].cidr "${cidr}" is taken as ${prefix}; did you mean that, or start and end?`;

    it("is its whole prefix, and is warned about", () => {
        const pool = ipPool("p", "10.1.0.32/29", "10.1.0.13/29");
        expect(checkPoolCreate(pool, context([ipPool("other", "10.1.0.16/29")]), notInUse)).toEqual({
            errors: [],
            warnings: [meant("10.1.0.13/29", "10.1.0.8/29", 1)],
        });
        expect(checkPoolCreate(ipPool("p", "fd00::5/64"), context(), notInUse).warnings).toEqual([
            meant("fd00::5/64", "fd00::/64"),
        ]);
    });

    it("may be written in place of its prefix while the pool is in use", () => {
        const verdict = checkPoolUpdate(ipPool("p", "10.1.0.24/29"), ipPool("p", "10.1.0.27/29"), context(), claimed);
        expect(verdict).toEqual({ errors: [], warnings: [meant("10.1.0.27/29", "10.1.0.24/29")] });
    });

    it("is warned about when the spec changes, not with each edit", () => {
        const pool = ipPool("p", "10.1.0.13/29");
        expect(checkPoolUpdate(pool, pool, context(), notInUse).warnings).toEqual([]);
        expect(checkPoolUpdate(ipPool("p", "10.1.0.32/29"), pool, context(), notInUse).warnings).toEqual([
            meant("10.1.0.13/29", "10.1.0.8/29"),
        ]);
    });
});

describe("a pool that is created", () => {
    it.each<readonly [string, IpPool, readonly IpPool[]]>([
        ["alone", ipPool("p", "10.1.0.8/29"), []],
        ["several subnets", ipPool("p", "10.1.0.8/29", range("10.2.0.8/29", { gateway: "10.2.0.1" })), []],
        ["adjacent to another", ipPool("p", "10.1.0.8/29"), [ipPool("other", "10.1.0.16/29", "10.1.0.1-10.1.0.7")]],
        ["adjacent within itself", ipPool("p", "10.1.0.8-10.1.0.9", "10.1.0.10-10.1.0.12"), []],
        ["gateway inside", ipPool("p", "10.1.0.0/24"), []],
        ["huge", ipPool("p", "fd00::/64"), [ipPool("other", "10.1.0.0/24")]],
        ["one gateway for two pools", ipPool("p", "10.1.0.8"), [ipPool("other", "10.1.0.9")]],
        ["the stored pool of its name is itself", ipPool("p", "10.1.0.8/29"), [ipPool("p", "10.1.0.8/29")]],
        [
            "beside a pool that cannot be read",
            ipPool("p", "10.1.0.8/29"),
            [ipPool("bad", range("10.1.0.8/29", { vlan: 4095 }))],
        ],
    ])("is allowed: %s", (_name, pool, others) => {
        expect(checkPoolCreate(pool, context(others), notInUse)).toEqual({ errors: [], warnings: [] });
    });

    it.each<readonly [string, IpPool, readonly IpPool[], readonly string[]]>([
        ["no ranges", ipPool("p"), [], ["spec.ipRanges: must have at least one range"]],
        [
            "start after end",
            ipPool("p", "10.1.0.8", "10.1.0.9-10.1.0.8"),
            [],
            ['spec.ipRanges[1].start "10.1.0.9": must not be after end 10.1.0.8'],
        ],
        [
            "mixed families",
            ipPool("p", "10.1.0.8", "fd00::8"),
            [],
            [
                'spec.ipRanges[1].start "fd00::8": must be of IPv4, as spec.ipVersion specifies',
                'spec.ipRanges[1].end "fd00::8": must be of IPv4, as spec.ipVersion specifies',
                'spec.ipRanges[1].gateway "fd00::1": must be of IPv4, as spec.ipVersion specifies',
            ],
        ],
        [
            "vlan 4095",
            ipPool("p", range("10.1.0.8", { vlan: 4095 })),
            [],
            [
                'spec.ipRanges[0].vlan "4095": must be a whole number from 0 (untagged) to 4094: IEEE 802.1Q reserves 4095',
            ],
        ],
        [
            "overlap within itself",
            ipPool("p", "10.1.0.8-10.1.0.20", "10.1.0.16/29"),
            [],
            [
                'spec.ipRanges[1] "10.1.0.16-10.1.0.23": overlaps spec.ipRanges[0] (10.1.0.8-10.1.0.20): both have 10.1.0.16-10.1.0.20',
            ],
        ],
        [
            "overlap within itself, the later one reported",
            ipPool("p", "10.1.0.16/29", "10.1.0.8-10.1.0.20"),
            [],
            [
                'spec.ipRanges[1] "10.1.0.8-10.1.0.20": overlaps spec.ipRanges[0] (10.1.0.16-10.1.0.23): both have 10.1.0.16-10.1.0.20',
            ],
        ],
        [
            "one range twice, spelled otherwise",
            ipPool("p", "10.1.0.8/29", "10.1.0.8-10.1.0.15"),
            [],
            [
                'spec.ipRanges[1] "10.1.0.8-10.1.0.15": overlaps spec.ipRanges[0] (10.1.0.8-10.1.0.15): both have 10.1.0.8-10.1.0.15',
            ],
        ],
        [
            "overlap with another pool",
            ipPool("p", "10.1.0.8/29"),
            [ipPool("other", "10.1.0.14-10.1.0.30")],
            ['spec.ipRanges[0] "10.1.0.8-10.1.0.15": overlaps IPPool "other": both have 10.1.0.14-10.1.0.15'],
        ],
        [
            "overlap with two pools, and two ranges of one",
            ipPool("p", "10.1.0.0/24"),
            [ipPool("one", "10.1.0.8", "10.1.0.10"), ipPool("two", "10.1.0.200-10.1.0.210")],
            [
                'spec.ipRanges[0] "10.1.0.0-10.1.0.255": overlaps IPPool "one": both have 10.1.0.8, 10.1.0.10',
                'spec.ipRanges[0] "10.1.0.0-10.1.0.255": overlaps IPPool "two": both have 10.1.0.200-10.1.0.210',
            ],
        ],
        [
            "overlap spelled otherwise",
            ipPool("p", "fd00:0:0::10/124"),
            [ipPool("other", "fd00::1f-fd00::ff")],
            ['spec.ipRanges[0] "fd00::10-fd00::1f": overlaps IPPool "other": both have fd00::1f'],
        ],
        [
            "overlap in another VLAN",
            ipPool("p", range("10.1.0.8", { vlan: 3 })),
            [ipPool("other", range("10.1.0.8", { vlan: 4 }))],
            ['spec.ipRanges[0] "10.1.0.8": overlaps IPPool "other": both have 10.1.0.8'],
        ],
        [
            "overlap with a neighbour's edge",
            ipPool("p", "10.1.0.15"),
            [ipPool("other", "10.1.0.8/29")],
            ['spec.ipRanges[0] "10.1.0.15": overlaps IPPool "other": both have 10.1.0.15'],
        ],
    ])("is refused: %s", (_name, pool, others, errors) => {
        expect(errorsOf(checkPoolCreate(pool, context(others), notInUse))).toEqual(errors);
    });

    it("is allowed with a warning where it touches what the cluster uses", () => {
        const cluster = { nodes: ["10.1.0.20", "10.1.0.21"], pods: ["10.1.0.32/28"], services: ["10.1.0.64/28"] };
        const verdict = checkPoolCreate(
            ipPool("p", "10.1.0.8-10.1.0.40", "10.1.0.64/29", "10.1.0.200"),
            context([], cluster),
            notInUse,
        );
        expect(verdict).toEqual({
            errors: [],
            warnings: [
                "spec.ipRanges[0] 10.1.0.8-10.1.0.40 touches addresses of Nodes, which are never handed out: 10.1.0.20-10.1.0.21",
                "spec.ipRanges[0] 10.1.0.8-10.1.0.40 touches podCIDRs of Nodes, which are never handed out: 10.1.0.32-10.1.0.40",
                "spec.ipRanges[1] 10.1.0.64-10.1.0.71 touches Service CIDRs, which are never handed out: 10.1.0.64-10.1.0.71",
            ],
        });
    });

    it("is allowed with a warning where nothing is left to hand out", () => {
        const { errors, warnings } = checkPoolCreate(ipPool("p", "10.1.0.1"), context(), notInUse);
        expect(errors).toEqual([]);
        expect(warnings).toEqual([expect.stringContaining("no address to hand out")]);
    });

    it("is allowed with a warning where the cluster uses all of it", () => {
        const cluster = { nodes: [], pods: ["10.1.0.0/24"], services: [] };
        const { errors, warnings } = checkPoolCreate(ipPool("p", "10.1.0.8-10.1.0.40"), context([], cluster), notInUse);
        expect(errors).toEqual([]);
        expect(warnings).toEqual([
            "spec.ipRanges: the pool has no address to hand out: gateways, edges of a CIDR and addresses that the cluster uses are all that is in it",
            "spec.ipRanges[0] 10.1.0.8-10.1.0.40 touches podCIDRs of Nodes, which are never handed out: 10.1.0.8-10.1.0.40",
            "spec.ipRanges[0].gateway 10.1.0.1 is one of podCIDRs of Nodes: a Pod or Service may have it; name the address of the router",
        ]);
    });

    it("reports each range that shares an address with one before it", () => {
        const ranges = fc.array(fc.tuple(fc.integer({ min: 2, max: 60 }), fc.integer({ min: 0, max: 8 })), {
            minLength: 1,
            maxLength: 8,
        });
        fc.assert(
            fc.property(ranges, (items) => {
                const texts = items.map(([from, length]) => `10.1.0.${from}-10.1.0.${from + length}`);
                const sorted = items.toSorted(([a, length], [b, other]) => a - b || length - other);
                const overlapping = sorted.filter(([from], at) =>
                    sorted.slice(0, at).some(([other, length]) => from <= other + length),
                );
                expect(checkPoolCreate(ipPool("p", ...texts), context(), notInUse).errors).toHaveLength(
                    overlapping.length,
                );
            }),
        );
    });

    it("answers quickly for thousands of equal ranges", () => {
        const ranges = Array.from({ length: 3000 }, () => "10.1.0.8-10.1.0.20");
        const { errors } = checkPoolCreate(ipPool("p", ...ranges), context(), notInUse);
        expect(errors).toHaveLength(2999);
        expect(refusalsText(errors)).toMatch(/; and 2991 more$/);
    });
});

describe("a pool that is changed", () => {
    const base = ipPool("p", "10.1.0.8-10.1.0.15", "10.1.0.24/29");
    const six = ipPool("p", "fd00::/64");

    it.each<readonly [string, IpPool, IpPool]>([
        ["grown by a range", base, ipPool("p", "10.1.0.8-10.1.0.15", "10.1.0.24/29", "10.1.0.40")],
        ["grown in place", base, ipPool("p", "10.1.0.6-10.1.0.19", "10.1.0.24/29")],
        ["grown in place, IPv6", ipPool("p", "fd00::10-fd00::20"), ipPool("p", "fd00::10-fd00::ffff")],
        ["split", base, ipPool("p", "10.1.0.8-10.1.0.11", "10.1.0.12-10.1.0.15", "10.1.0.24/29")],
        ["joined", ipPool("p", "10.1.0.8-10.1.0.11", "10.1.0.12-10.1.0.15"), ipPool("p", "10.1.0.8-10.1.0.15")],
        ["re-ordered", base, ipPool("p", "10.1.0.24/29", "10.1.0.8-10.1.0.15")],
        ["re-spelled, CIDR as start and end", base, ipPool("p", "10.1.0.8-10.1.0.15", "10.1.0.25-10.1.0.30")],
        ["re-spelled, the gateway left out", ipPool("p", "10.1.0.1-10.1.0.9"), ipPool("p", "10.1.0.2-10.1.0.9")],
        ["re-spelled, IPv6", six, ipPool("p", "fd00:0::0/64")],
        ["vlan 0 written out", base, ipPool("p", range("10.1.0.8-10.1.0.15", { vlan: 0 }), "10.1.0.24/29")],
        [
            "a CIDR split where no edge is in use",
            ipPool("p", "10.1.0.8/29"),
            ipPool("p", "10.1.0.8/30", "10.1.0.12/30"),
        ],
        ["CIDRs joined", ipPool("p", "10.1.0.8/30", "10.1.0.12/30"), ipPool("p", "10.1.0.8/29")],
        [
            "an edge of a CIDR given to another subnet",
            ipPool("p", "10.1.0.8/29"),
            ipPool("p", "10.1.0.9-10.1.0.14", range("10.1.0.15-10.1.0.20", { gateway: "10.1.0.99" })),
        ],
    ])("is allowed while in use: %s", (_name, old, pool) => {
        const use = { allocations: [...claimed.allocations, ...reserved.allocations], references: named.references };
        expect(checkPoolUpdate(old, pool, context([old]), use)).toEqual({ errors: [], warnings: [] });
    });

    it.each<readonly [string, IpPool]>([
        ["without its first range", ipPool("p", "10.1.0.24/29")],
        ["with a shorter range", ipPool("p", "10.1.0.9-10.1.0.15", "10.1.0.24/29")],
        ["with a hole", ipPool("p", "10.1.0.8-10.1.0.10", "10.1.0.12-10.1.0.15", "10.1.0.24/29")],
        ["moved", ipPool("p", "10.1.0.108-10.1.0.115")],
    ])("is refused shrinking while in use, else allowed: %s", (_name, pool) => {
        for (const use of [claimed, reserved, named]) {
            const { errors } = checkPoolUpdate(base, pool, context([base]), use);
            expect(errors.map(({ path }) => path)).toEqual(["spec.ipRanges"]);
            expect(refusalText(errors[0]!)).toContain("cannot be taken out of a pool that is in use: ");
        }
        for (const use of [notInUse, nodeOnly])
            expect(errorsOf(checkPoolUpdate(base, pool, context([base]), use))).toEqual([]);
        expect(comparePools(base, pool).asks.inUse).toBe(true);
    });

    it("reports what shrinking takes and who uses the pool", () => {
        const use = {
            allocations: [
                podAllocation("10.1.0.9", "web"),
                ordinalAllocation("10.1.0.10", 3),
                nodeAllocation("10.1.0.11", "n1"),
                podAllocation("10.1.0.12", "b"),
                podAllocation("10.1.0.13", "c"),
            ],
            references: ["Namespace a", "Deployment a/web"],
        };
        expect(errorsOf(checkPoolUpdate(base, ipPool("p", "10.1.0.24/29"), context(), use))).toEqual([
            'spec.ipRanges "10.1.0.8-10.1.0.15": cannot be taken out of a pool that is in use: 10.1.0.9 of Pod a/web, ' +
                "10.1.0.10 reserved for StatefulSet a/web (ordinal 3), 10.1.0.12 of Pod a/b and 1 more; " +
                "named by Namespace a, Deployment a/web; delete these users first, or create another IPPool",
        ]);
    });

    it("is not in use by what another pool's allocation has", () => {
        const allocation = podAllocation("10.1.0.9", "web");
        const use = { allocations: [{ ...allocation, spec: { ...allocation.spec, pool: "other" } }], references: [] };
        expect(errorsOf(checkPoolUpdate(base, ipPool("p", "10.1.0.24/29"), context(), use))).toEqual([]);
    });

    it("names first who has what is taken away, and reports when there are more users than are known", () => {
        const allocations = ["10.1.0.9", "10.1.0.10", "10.1.0.11", "10.1.0.24", "10.1.0.25"].map((ip) =>
            podAllocation(ip, "x"),
        );
        const use: PoolUse = { allocations, references: [], isPart: true };
        const shrunk = ipPool("p", "10.1.0.8-10.1.0.15");
        expect(errorsOf(checkPoolUpdate(base, shrunk, context(), use))).toEqual([
            expect.stringMatching(
                /in use: 10\.1\.0\.25 of Pod a\/x, 10\.1\.0\.9 of Pod a\/x, 10\.1\.0\.10 of Pod a\/x and more than 2 others; delete these/,
            ),
        ]);
        expect(comparePools(base, shrunk).asks.allocationsIn.has(parseIp("10.1.0.25"))).toBe(true);
        const three = { ...use, allocations: allocations.slice(0, 3) };
        expect(errorsOf(checkPoolDelete(base, three))).toEqual([
            expect.stringMatching(/10\.1\.0\.11 of Pod a\/x and others; delete these users first$/),
        ]);
    });

    it("is refused where a CIDR is split at an address that is claimed", () => {
        const [old, pool] = [ipPool("p", "10.1.0.8/29"), ipPool("p", "10.1.0.8/30", "10.1.0.12/30")];
        const change = comparePools(old, pool);
        expect(formatRangeSet(change.uncovered)).toBe("10.1.0.11-10.1.0.12");
        expect(change.asks).toEqual({ inUse: false, allocationsIn: change.uncovered, gateways: RangeSet.empty });
        const use = {
            allocations: [podAllocation("10.1.0.9", "a"), podAllocation("10.1.0.12", "b")],
            references: ["Namespace a"],
        };
        expect(errorsOf(checkPoolUpdate(old, pool, context(), use))).toEqual([
            'spec.ipRanges "10.1.0.11-10.1.0.12": would no longer be handed out, as edge of a CIDR or as gateway, and is in use: 10.1.0.12 of Pod a/b; delete these users first, or create another IPPool',
        ]);
    });

    it("is refused where the gateway of a further range is an address that is claimed", () => {
        const pool = ipPool("p", "10.1.0.8-10.1.0.15", "10.1.0.24/29", range("10.1.0.100", { gateway: "10.1.0.9" }));
        expect(errorsOf(checkPoolUpdate(base, pool, context(), claimed))).toEqual([
            expect.stringContaining("10.1.0.9 of Pod a/web"),
        ]);
        expect(errorsOf(checkPoolUpdate(base, pool, context(), notInUse))).toEqual([]);
    });

    it.each<readonly [string, IpPool, readonly string[]]>([
        [
            "ipVersion",
            { ...six, metadata: { name: "p" } },
            ['spec.ipVersion "6": cannot be changed from 4: create another IPPool'],
        ],
        [
            "gateway",
            ipPool("p", range("10.1.0.8-10.1.0.15", { gateway: "10.1.0.2" }), "10.1.0.24/29"),
            ['spec.ipRanges[0].gateway "10.1.0.2": cannot be changed: 10.1.0.8-10.1.0.15 has 10.1.0.1'],
        ],
        [
            "prefixLength",
            ipPool("p", "10.1.0.8-10.1.0.15", range("10.1.0.24/29", { prefixLength: 25 })),
            ['spec.ipRanges[1].prefixLength "25": cannot be changed: 10.1.0.25-10.1.0.30 has 24'],
        ],
        [
            "gateway of a part of a range",
            ipPool("p", "10.1.0.8-10.1.0.11", range("10.1.0.12-10.1.0.15", { gateway: "10.1.0.2" }), "10.1.0.24/29"),
            ['spec.ipRanges[1].gateway "10.1.0.2": cannot be changed: 10.1.0.12-10.1.0.15 has 10.1.0.1'],
        ],
    ])("is refused, in use or not: %s", (_name, pool, errors) => {
        for (const use of [claimed, notInUse])
            expect(errorsOf(checkPoolUpdate(base, pool, context([base]), use))).toEqual(errors);
    });

    it("may have another gateway for addresses that are not in it yet", () => {
        const pool = ipPool(
            "p",
            "10.1.0.8-10.1.0.15",
            "10.1.0.24/29",
            range("10.1.0.40", { gateway: "10.1.0.3", prefixLength: 26 }),
        );
        expect(errorsOf(checkPoolUpdate(base, pool, context([base]), claimed))).toEqual([]);
    });

    it("may have another vlan only while not in use", () => {
        const pool = ipPool("p", range("10.1.0.8-10.1.0.15", { vlan: 7 }), "10.1.0.24/29");
        expect(comparePools(base, pool).asks.inUse).toBe(true);
        for (const use of [claimed, reserved, named]) {
            expect(errorsOf(checkPoolUpdate(base, pool, context(), use))).toEqual([
                expect.stringMatching(
                    /^spec\.ipRanges\[0\]\.vlan "7": cannot be changed: 10\.1\.0\.8-10\.1\.0\.15 has 0 while the pool is in use: /,
                ),
            ]);
        }
        for (const use of [notInUse, nodeOnly])
            expect(errorsOf(checkPoolUpdate(base, pool, context(), use))).toEqual([]);
    });

    it("is judged by the rules of creation too", () => {
        const pool = ipPool("p", "10.1.0.8-10.1.0.15", "10.1.0.24/29", "10.1.0.14-10.1.0.16");
        const other = ipPool("other", "10.1.0.16");
        expect(errorsOf(checkPoolUpdate(base, pool, context([base, other]), notInUse))).toEqual([
            expect.stringContaining("overlaps spec.ipRanges[0]"),
            expect.stringContaining('overlaps IPPool "other": both have 10.1.0.16'),
        ]);
    });

    it("reports only what is wrong with a spec that cannot be read", () => {
        const pool = ipPool("p", range("10.1.0.8-10.1.0.15", { gateway: "10.1.0.300" }), "10.1.0.24/29");
        expect(errorsOf(checkPoolUpdate(base, pool, context([base]), claimed))).toEqual([
            'spec.ipRanges[0].gateway "10.1.0.300": a decimal part must be at most 255',
        ]);
    });

    const bad: IpPool = {
        metadata: { name: "p" },
        spec: {
            ipVersion: 4,
            ipRanges: [
                range("10.1.0.8/29"),
                range("10.1.0.9"),
                range("10.1.0.20-10.1.0.10"),
                range("fd00::1", { vlan: 4095 }),
            ],
        },
    };

    it.each<readonly [string, IpPool]>([
        ["a bad one", bad],
        ["one without ranges", ipPool("p")],
        ["one of no version", { spec: {} } as IpPool],
        ["one that overlaps another", base],
    ])("may get other metadata and status, however bad the stored one is: %s", (_name, old) => {
        const copy = structuredClone(old);
        const pool = { ...copy, metadata: { ...copy.metadata, labels: { a: "b" } }, status: { freeBlocks: [] } };
        const verdict = checkPoolUpdate(old, pool, context([ipPool("other", "10.1.0.0/24")]), claimed);
        expect(verdict).toEqual({ errors: [], warnings: [] });
        expect(comparePools(old, pool).asks.inUse).toBe(false);
    });

    it("is the same whatever the order of its fields", () => {
        const ranges = base.spec.ipRanges.map(
            (one) => Object.fromEntries(Object.entries(one).reverse()) as unknown as IpRangeSpec,
        );
        const pool: IpPool = { spec: { ipRanges: ranges, ipVersion: 4 } };
        const other = ipPool("other", "10.1.0.0/24");
        expect(checkPoolUpdate(base, pool, context([other]), claimed).errors).toEqual([]);
    });

    it("may be mended where the stored one was bad", () => {
        const pool = ipPool("p", "10.1.0.8/29", "10.1.0.20-10.1.0.30");
        expect(errorsOf(checkPoolUpdate(bad, pool, context([bad]), claimed))).toEqual([]);
        // Where ranges overlapped, the first had the address.
        const double = ipPool("p", "10.1.0.8-10.1.0.15", range("10.1.0.12-10.1.0.20", { gateway: "10.1.0.2" }));
        const mended = ipPool("p", "10.1.0.8-10.1.0.15", range("10.1.0.16-10.1.0.20", { gateway: "10.1.0.2" }));
        expect(errorsOf(checkPoolUpdate(double, mended, context([double]), claimed))).toEqual([]);
    });

    it("never loses an address in use: random changes against a list of addresses", () => {
        const piece = fc.tuple(
            fc.integer({ min: 2, max: 30 }),
            fc.integer({ min: 0, max: 6 }),
            fc.constantFrom(0, 5),
            fc.constantFrom("10.1.0.1", "10.1.0.60"),
        );
        const pieces = fc.array(piece, { minLength: 1, maxLength: 4 });
        fc.assert(
            fc.property(pieces, pieces, (from, to) => {
                const specOf = (items: typeof from): IpPool =>
                    ipPool(
                        "p",
                        ...items.map(([at, length, vlan, gateway]) =>
                            range(`10.1.0.${at}-10.1.0.${at + length}`, { vlan, gateway }),
                        ),
                    );
                const meaning = (items: typeof from): ReadonlyMap<number, (typeof from)[number]> => {
                    const all = new Map<number, (typeof from)[number]>();
                    for (const item of items) {
                        for (let at = item[0]; at <= item[0] + item[1]; at += 1) if (!all.has(at)) all.set(at, item);
                    }
                    return all;
                };
                const [old, pool] = [specOf(from), specOf(to)];
                const [before, after] = [meaning(from), meaning(to)];
                const pairs = [...before].map(([at, item]) => [item, after.get(at)] as const);
                const change = comparePools(old, pool);
                const same = JSON.stringify(old.spec) === JSON.stringify(pool.spec);
                expect(!change.removed.isEmpty).toBe(!same && pairs.some(([, item]) => item === undefined));
                expect(change.uncovered.isEmpty).toBe(true);
                // New ranges that overlap are refused on their own; each has to agree with the old ones.
                if (checkPoolCreate(pool, context(), notInUse).errors.length > 0) return;
                expect(change.refusals.length > 0).toBe(pairs.some(([a, b]) => b !== undefined && a[3] !== b[3]));
                expect(change.vlans.length > 0).toBe(pairs.some(([a, b]) => b !== undefined && a[2] !== b[2]));
            }),
        );
    });
});

describe("addresses that a pool is given", () => {
    const cluster = { clusterCidrs: ["10.244.0.0/16", "fd00:244::/48"] };
    const inside = range("10.244.200.0/24", { gateway: "10.244.200.1" });
    const rule =
        "must not have addresses of cluster CIDR 10.244.0.0/16 (nodeIPAM.clusterCIDRs), of which Nodes get the subnets of their Pods: ";

    it("are not those of which Nodes get their subnets", () => {
        const wide = range("10.243.255.0-10.244.0.9", { gateway: "10.243.0.1", prefixLength: 8 });
        expect(errorsOf(checkPoolCreate(ipPool("p", inside, wide), context([], cluster), notInUse))).toEqual([
            `spec.ipRanges[0] "10.244.200.0-10.244.200.255": ${rule}10.244.200.0-10.244.200.255; choose addresses outside it`,
            `spec.ipRanges[1] "10.243.255.0-10.244.0.9": ${rule}10.244.0.0-10.244.0.9; choose addresses outside it`,
        ]);
        const six = range("fd00:244::9", { gateway: "fd00:244::1" });
        expect(errorsOf(checkPoolCreate(ipPool("p", six), context([], cluster), notInUse))).toEqual([
            expect.stringContaining('spec.ipRanges[0] "fd00:244::9": must not have addresses of cluster CIDR'),
            expect.stringContaining('spec.ipRanges[0].gateway "fd00:244::1": must not be in cluster CIDR'),
        ]);
        expect(errorsOf(checkPoolCreate(ipPool("p", "10.1.0.0/24"), context([], cluster), notInUse))).toEqual([]);
    });

    it("may stay such ones in a pool that has them, but no more of them", () => {
        const old = ipPool("p", inside);
        const update = (...ranges: Parameters<typeof range>[]): readonly string[] =>
            errorsOf(
                checkPoolUpdate(
                    old,
                    ipPool("p", ...ranges.map((one) => range(...one))),
                    context([old], cluster),
                    notInUse,
                ),
            );
        expect(update(["10.244.200.0/25", { gateway: "10.244.200.1" }])).toEqual([]);
        expect(update(["10.244.200.0/24", { gateway: "10.244.200.1", vlan: 7 }])).toEqual([]);
        expect(update(["10.244.200.0/24", { gateway: "10.244.200.1" }], ["10.1.0.9"])).toEqual([]);
        expect(
            update(
                ["10.244.200.0/24", { gateway: "10.244.200.1" }],
                ["10.244.201.9", { gateway: "10.244.200.1", prefixLength: 23 }],
            ),
        ).toEqual([`spec.ipRanges[1] "10.244.201.9": ${rule}10.244.201.9; choose addresses outside it`]);
    });

    it.each([
        ["169.254.0.253", "169.254.0.1", 16, "link-local addresses, which no router forwards (169.254.0.0/16)"],
        ["0.1.0.0-0.1.0.9", "0.1.0.10", 16, 'addresses of "this network" (RFC 6890) (0.0.0.0/8)'],
        ["240.0.0.8/29", "240.0.0.1", 24, "reserved addresses (RFC 1112), which hosts do not accept (240.0.0.0/4)"],
        ["fe80::/64", "fe80::1", 64, "link-local addresses, which no router forwards (fe80::/10)"],
        [
            "fc01::aabb:ccdd:ee00/120",
            "fc01::1",
            64,
            "the address that Nodes reach Services with for bridged Pods (fc01::aabb:ccdd:eeff/128)",
        ],
    ])("are not ones that cannot work: %s", (text, gateway, prefixLength, why) => {
        const pool = ipPool("p", range(text, { gateway, prefixLength }));
        expect(errorsOf(checkPoolCreate(pool, context(), notInUse))).toEqual([
            expect.stringContaining(`: must not hold ${why}`),
        ]);
        // A stored one goes on.
        expect(readPool(pool).problems).toEqual([]);
        const changed = { ...pool, spec: { ...pool.spec, ipRanges: [{ ...pool.spec.ipRanges[0]!, vlan: 9 }] } };
        expect(errorsOf(checkPoolUpdate(pool, changed, context([pool]), notInUse))).toEqual([]);
    });
});

describe("the gateway of a pool, among the addresses of Pods", () => {
    const cluster = { clusterCidrs: ["10.244.0.0/23"], pods: ["10.244.1.0/24"], services: ["10.96.0.0/16"] };
    const outside = range("10.244.2.10-10.244.2.20", { gateway: "10.244.1.1", prefixLength: 21 });

    it("is refused in a cluster CIDR, as each Node's subnet has its own users", () => {
        const refusal = `spec.ipRanges[0].gateway "10.244.1.1": must not be in cluster CIDR 10.244.0.0/23 (nodeIPAM.clusterCIDRs), of which Nodes get the subnets of their Pods; name the address of the router, outside it`;
        expect(errorsOf(checkPoolCreate(ipPool("p", outside), context([], cluster), notInUse))).toEqual([refusal]);
        const old = ipPool("p", range("10.244.2.10", { gateway: "10.244.2.1" }));
        const update = ipPool("p", range("10.244.2.10", { gateway: "10.244.2.1" }), {
            ...outside,
            start: "10.244.2.11",
        });
        expect(errorsOf(checkPoolUpdate(old, update, context([old], cluster), notInUse))).toEqual([
            refusal.replace("[0]", "[1]"),
        ]);
    });

    it("may stay one in a pool that has it, also in another VLAN", () => {
        const old = ipPool("p", outside);
        const grown = ipPool("p", { ...outside, end: "10.244.2.30" });
        const moved = ipPool("p", { ...outside, vlan: 7 });
        for (const pool of [grown, moved]) {
            expect(errorsOf(checkPoolUpdate(old, pool, context([old], cluster), notInUse))).toEqual([]);
        }
    });

    it("is warned about in podCIDRs of Nodes and Service CIDRs", () => {
        const { clusterCidrs: _, ...used } = cluster;
        expect(checkPoolCreate(ipPool("p", outside), context([], used), notInUse)).toEqual({
            errors: [],
            warnings: [
                "spec.ipRanges[0].gateway 10.244.1.1 is one of podCIDRs of Nodes: a Pod or Service may have it; name the address of the router",
            ],
        });
        const service = range("10.97.0.9", { gateway: "10.96.0.1", prefixLength: 15 });
        expect(checkPoolCreate(ipPool("p", service), context([], used), notInUse).warnings).toEqual([
            expect.stringContaining("spec.ipRanges[0].gateway 10.96.0.1 is one of Service CIDRs"),
        ]);
        const node = { nodes: ["10.1.0.1"] };
        expect(checkPoolCreate(ipPool("p", "10.1.0.8/29"), context([], node), notInUse).warnings).toEqual([]);
    });
});

describe("the gateway of a pool", () => {
    const router = (ip: string, vlan = 0): IpPool =>
        ipPool("new", range("10.1.1.10-10.1.1.20", { gateway: ip, prefixLength: 23, vlan }));
    const other = ipPool("p", "10.1.0.0/24");

    it.each<readonly [string, IpAllocation, string]>([
        ["a Pod uses", podAllocation("10.1.0.50", "web"), "10.1.0.50 of Pod a/web"],
        [
            "is reserved for an ordinal",
            ordinalAllocation("10.1.0.50", 0),
            "10.1.0.50 reserved for StatefulSet a/web (ordinal 0)",
        ],
    ])("that %s is refused with the holder, when created or changed to", (_name, allocation, holder) => {
        const rule = `is in use: ${holder}; name the address of the router, or delete what uses this one first`;
        const pool = router("10.1.0.50");
        const old = router("10.1.0.2");
        const added = {
            ...old,
            spec: {
                ...old.spec,
                ipRanges: [
                    ...old.spec.ipRanges,
                    ...ipPool("new", range("10.1.1.30", { gateway: "10.1.0.50", prefixLength: 23 })).spec.ipRanges,
                ],
            },
        };
        const use = { allocations: [allocation], references: [] };
        expect(newGateways(pool).has(parseIp("10.1.0.50"))).toBe(true);
        expect(errorsOf(checkPoolCreate(pool, context([other]), use))).toEqual([
            `spec.ipRanges[0].gateway "10.1.0.50": ${rule}`,
        ]);
        expect(comparePools(old, added).asks.gateways.has(parseIp("10.1.0.50"))).toBe(true);
        expect(errorsOf(checkPoolUpdate(old, added, context([other, old]), use))).toEqual([
            `spec.ipRanges[1].gateway "10.1.0.50": ${rule}`,
        ]);
    });

    it("that a Node has, that is held already, or that a Pod of another VLAN has is allowed", () => {
        const pool = router("10.1.0.50");
        for (const allocation of [nodeAllocation("10.1.0.50", "n"), gatewayAllocation("10.1.0.50")]) {
            expect(errorsOf(checkPoolCreate(pool, context([other]), { allocations: [allocation] }))).toEqual([]);
        }
        const pod = { allocations: [podAllocation("10.1.0.50", "web")] };
        expect(errorsOf(checkPoolCreate(router("10.1.0.50", 7), context([other]), pod))).toEqual([]);
        // Of a pool that is gone the VLAN is not known.
        expect(errorsOf(checkPoolCreate(router("10.1.0.50", 7), context([]), pod))).toHaveLength(1);
    });

    it("that a Pod had before does not stand in the way of other changes", () => {
        const old = router("10.1.0.50");
        const pool = ipPool("new", range("10.1.1.10-10.1.1.99", { gateway: "10.1.0.50", prefixLength: 23 }));
        expect(comparePools(old, pool).asks.gateways.isEmpty).toBe(true);
        const use = { allocations: [podAllocation("10.1.0.50", "web")], references: [] };
        expect(errorsOf(checkPoolUpdate(old, pool, context([other, old]), use))).toEqual([]);
    });

    it("that is an address of the pool itself is reported once", () => {
        const pool = ipPool("p", "10.1.0.0/24", range("10.1.1.8/29", { gateway: "10.1.0.9", prefixLength: 23 }));
        expect(errorsOf(checkPoolUpdate(other, pool, context([other]), claimed))).toEqual([
            'spec.ipRanges "10.1.0.9": would no longer be handed out, as edge of a CIDR or as gateway, and is in use: 10.1.0.9 of Pod a/web; delete these users first, or create another IPPool',
        ]);
    });
});

describe("a pool that is deleted", () => {
    const pool = ipPool("p", "10.1.0.8/29");

    it.each<readonly [string, PoolUse]>([
        ["not in use", notInUse],
        ["named by annotations only", named],
        ["holding only addresses of Nodes", nodeOnly],
        ["holding only gateways", { allocations: [gatewayAllocation("10.1.0.1")], references: [] }],
    ])("is allowed: %s", (_name, use) => {
        expect(checkPoolDelete(pool, use)).toEqual({ errors: [], warnings: [] });
    });

    it.each<readonly [string, PoolUse, string]>([
        ["claimed", claimed, "10.1.0.9 of Pod a/web"],
        ["reserved", reserved, "10.1.0.9 reserved for StatefulSet a/web (ordinal 0)"],
    ])("is refused: %s", (_name, use, holder) => {
        expect(errorsOf(checkPoolDelete(pool, use))).toEqual([
            `metadata.name "p": cannot be deleted while its addresses are in use: ${holder}; delete these users first`,
        ]);
    });
});

describe("who uses a pool", () => {
    it("is every allocation but those of Nodes", () => {
        expect(
            [podAllocation("10.1.0.9", "a"), ordinalAllocation("10.1.0.9", 0), nodeAllocation("10.1.0.9", "n")].map(
                isUse,
            ),
        ).toEqual([true, true, false]);
    });

    it("is an allocation whose kind of owner is not known: it may be in use", () => {
        const allocation = nodeAllocation("10.1.0.9", "n");
        const unknown = { ...allocation, spec: { ...allocation.spec, owner: { kind: "Lease", name: "x" } as never } };
        expect(isUse(unknown)).toBe(true);
        expect(holderText(unknown)).toBe("10.1.0.9 reserved for Lease x");
    });

    it.each([
        ["named", "a, p", true],
        ["not named", "a,pp", false],
        ["blank", "", false],
        ["absent", undefined, false],
    ])("is who names it in an annotation: %s", (_name, text, names) => {
        expect(namesPool(text === undefined ? undefined : { "ipam.antrea.io/ippools": text }, "p")).toBe(names);
    });
});
