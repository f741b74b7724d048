import { describe, expect, it } from "@jest/globals";
import { formatPrefix, parseIp, parsePrefix, prefixRange, rangeOf, type IpRange } from "@antrea/ip";
import { CidrAllocator } from "../../../src/features/node-ipam/cidr-allocator.ts";
import { type NodeIpamSettings } from "../../../src/features/node-ipam/types.ts";

const minute = 60_000;
const t0 = Date.UTC(2030, 0, 1);

const four: NodeIpamSettings = {
    clusters: [{ prefix: parsePrefix("10.0.0.0/22"), nodeMaskSize: 24 }],
    serviceCidrs: [],
};
const dual: NodeIpamSettings = {
    clusters: [
        { prefix: parsePrefix("10.0.0.0/22"), nodeMaskSize: 24 },
        { prefix: parsePrefix("fd00::/62"), nodeMaskSize: 64 },
    ],
    serviceCidrs: [],
};

function assign(allocator: CidrAllocator, node: string, now = t0): string {
    const assignment = allocator.assign(node, now);
    if (assignment.kind === "exhausted") return `exhausted ${assignment.clusters.map(formatPrefix).join(" ")}`;
    allocator.seen(node, assignment.cidrs.map(formatPrefix), now);
    return assignment.cidrs.map(formatPrefix).join(" ");
}

describe("CidrAllocator", () => {
    it("gives both families, in the order of the configuration", () => {
        const allocator = new CidrAllocator({ ...dual, clusters: [...dual.clusters].reverse() });
        expect(assign(allocator, "a")).toBe("fd00::/64 10.0.0.0/24");
        expect(assign(allocator, "b")).toBe("fd00:0:0:1::/64 10.0.1.0/24");
    });

    it("gives the same again as long as the Node has not taken it", () => {
        const allocator = new CidrAllocator(dual);
        const first = allocator.assign("a", t0);
        expect(allocator.assign("a", t0)).toEqual(first);
        expect(first).toMatchObject({ kind: "assigned", recorded: false });
        allocator.recorded(allocator.snapshot());
        expect(allocator.assign("a", t0)).toMatchObject({ recorded: true });
    });

    it("carves out Service CIDRs, whole and in part", () => {
        const serviceCidrs = [parsePrefix("10.0.0.0/23"), parsePrefix("fd00:0:0:1::/108")];
        const allocator = new CidrAllocator({ ...dual, serviceCidrs });
        expect(assign(allocator, "a")).toBe("10.0.2.0/24 fd00::/64");
        expect(assign(allocator, "b")).toBe("10.0.3.0/24 fd00:0:0:2::/64");
        expect(assign(allocator, "c")).toBe("exhausted 10.0.0.0/22");
    });

    it("gives no subnet that an IPPool or one of its allocations touches, and gives it when they are gone", () => {
        const allocator = new CidrAllocator(dual);
        const address = (text: string): IpRange => rangeOf(parseIp(text));
        allocator.reserve("pool a", [rangeOf(parseIp("10.0.0.250"), parseIp("10.0.1.3")), address("fd00:0:0:2::9")]);
        allocator.reserve("allocation 10.0.2.7", [address("10.0.2.7")]);
        allocator.reserve("allocation 192.168.0.1", [address("192.168.0.1")]);
        expect(allocator.usage).toMatchObject([{ free: 1 }, { free: 3 }]);
        expect(assign(allocator, "a")).toBe("10.0.3.0/24 fd00::/64");
        expect(assign(allocator, "b")).toBe("exhausted 10.0.0.0/22");
        allocator.reserve("allocation 10.0.2.7", []);
        expect(assign(allocator, "b")).toBe("10.0.2.0/24 fd00:0:0:1::/64");
        allocator.reserve("pool a", [address("10.0.1.3")]);
        expect(assign(allocator, "c")).toBe("10.0.0.0/24 fd00:0:0:2::/64");
        allocator.reserve("pool a", []);
        expect(assign(allocator, "d")).toBe("10.0.1.0/24 fd00:0:0:3::/64");
        expect(allocator.room(t0)).toBe(0);
    });

    it("rests a subnet for ten minutes by both clocks: neither a jump of wall time nor a standstill ends it", () => {
        let monotonic = 5 * minute;
        const allocator = new CidrAllocator(four, () => monotonic);
        allocator.load(
            {
                entries: [
                    {
                        node: "before",
                        cidrs: [parsePrefix("10.0.3.0/24")],
                        text: "10.0.3.0/24",
                        goneAtMs: t0 - 4 * minute,
                    },
                ],
                next: [],
            },
            t0,
        );
        for (const node of ["a", "b", "c"]) assign(allocator, node);
        allocator.gone("a", t0);
        // A jump of an hour.
        expect(assign(allocator, "d", t0 + 60 * minute)).toBe("exhausted 10.0.0.0/22");
        expect(allocator.room(t0 + 60 * minute)).toBe(0);
        monotonic += 6 * minute;
        expect(assign(allocator, "d", t0 + 60 * minute)).toBe("10.0.3.0/24");
        monotonic += 4 * minute;
        // Wall time was set back.
        expect(assign(allocator, "e", t0)).toBe("exhausted 10.0.0.0/22");
        expect(assign(allocator, "e", t0 + 10 * minute)).toBe("10.0.0.0/24");
    });

    it("calls a promise recorded when the ledger that was written has that very promise", () => {
        const allocator = new CidrAllocator(four);
        expect(allocator.assign("a", t0)).toMatchObject({ cidrs: [parsePrefix("10.0.0.0/24")] });
        const old = allocator.snapshot();
        allocator.gone("a", t0);
        allocator.seen("b", ["10.0.0.0/24"], t0);
        expect(allocator.assign("a", t0)).toMatchObject({ cidrs: [parsePrefix("10.0.1.0/24")], recorded: false });
        allocator.recorded(old);
        expect(allocator.assign("a", t0)).toMatchObject({ cidrs: [parsePrefix("10.0.1.0/24")], recorded: false });
    });

    it("takes back a promise, and what a Node had before, where a pool was made since", () => {
        const allocator = new CidrAllocator(four);
        expect(allocator.assign("a", t0)).toMatchObject({ cidrs: [parsePrefix("10.0.0.0/24")] });
        allocator.reserve("pool p", [prefixRange(parsePrefix("10.0.0.128/25"))]);
        expect(assign(allocator, "a")).toBe("10.0.1.0/24");
        allocator.gone("a", t0);
        allocator.reserve("pool q", [prefixRange(parsePrefix("10.0.1.0/30"))]);
        expect(assign(allocator, "a")).toBe("10.0.2.0/24");
    });

    it("leaves a Node the subnet that it has, whatever pool is made of it", () => {
        const allocator = new CidrAllocator(four);
        expect(assign(allocator, "a")).toBe("10.0.0.0/24");
        allocator.reserve("pool p", [prefixRange(parsePrefix("10.0.0.0/24"))]);
        expect(allocator.problems("a")).toEqual({ duplicates: [], foreign: [], missing: [] });
        expect([...allocator.nodes()]).toEqual(["a"]);
    });

    it("takes nothing of one family when the other has none", () => {
        const allocator = new CidrAllocator({ ...dual, serviceCidrs: [parsePrefix("fd00::/62")] });
        expect(assign(allocator, "a")).toBe("exhausted fd00::/62");
        expect(assign(allocator, "a")).toBe("exhausted fd00::/62");
        expect(allocator.usage).toMatchObject([{ free: 4 }, { free: 0 }]);
    });

    it("rests a subnet for ten minutes, and reports when it is free", () => {
        const allocator = new CidrAllocator(four);
        for (const node of ["a", "b", "c", "d"]) assign(allocator, node);
        allocator.gone("b", t0);
        allocator.gone("a", t0 + minute);
        expect(allocator.assign("e", t0 + minute)).toMatchObject({ kind: "exhausted", freeAtMs: t0 + 10 * minute });
        expect(assign(allocator, "e", t0 + 10 * minute - 1)).toBe("exhausted 10.0.0.0/22");
        expect(assign(allocator, "e", t0 + 10 * minute)).toBe("10.0.1.0/24");
        expect(assign(allocator, "f", t0 + 10 * minute)).toBe("exhausted 10.0.0.0/22");
        expect(assign(allocator, "f", t0 + 11 * minute)).toBe("10.0.0.0/24");
    });

    it("reuses a rested subnet last, the longest gone first", () => {
        const allocator = new CidrAllocator(four);
        assign(allocator, "a");
        assign(allocator, "b");
        allocator.gone("b", t0);
        allocator.gone("a", t0 + 1);
        const later = t0 + 60 * minute;
        expect(["c", "d", "e", "f"].map((node) => assign(allocator, node, later))).toEqual([
            "10.0.2.0/24",
            "10.0.3.0/24",
            "10.0.1.0/24",
            "10.0.0.0/24",
        ]);
    });

    it("gives a Node that returns its own back, at once and after a long time", () => {
        const allocator = new CidrAllocator(dual);
        assign(allocator, "a");
        assign(allocator, "b");
        allocator.gone("a", t0);
        expect(assign(allocator, "a", t0 + 1)).toBe("10.0.0.0/24 fd00::/64");
        allocator.gone("a", t0 + 2);
        expect(assign(allocator, "a", t0 + 600 * minute)).toBe("10.0.0.0/24 fd00::/64");
    });

    it("gives a Node that returns something else when its own was given away or is no subnet any more", () => {
        const allocator = new CidrAllocator(four);
        for (const node of ["a", "b", "c", "d"]) assign(allocator, node);
        allocator.gone("a", t0);
        assign(allocator, "e", t0 + 10 * minute);
        allocator.gone("b", t0 + 10 * minute);
        expect(assign(allocator, "a", t0 + 20 * minute)).toBe("10.0.1.0/24");

        const other = new CidrAllocator({
            ...four,
            clusters: [{ prefix: parsePrefix("10.0.0.0/22"), nodeMaskSize: 23 }],
        });
        other.load(allocator.snapshot(), t0);
        other.gone("c", t0);
        expect(assign(other, "c", t0 + 1)).toMatch(/^exhausted/);
    });

    it("keeps what Nodes have, also outside of the configuration, and marks it used", () => {
        const allocator = new CidrAllocator(dual);
        allocator.seen("old", ["10.0.1.0/24"], t0);
        allocator.seen("wide", ["10.0.2.0/23", "fd00::/64"], t0);
        allocator.seen("far", ["192.168.7.0/24", "fd99::/64"], t0);
        expect(allocator.problems("old")).toEqual({ duplicates: [], foreign: [], missing: [6] });
        expect(allocator.problems("wide")).toEqual({ duplicates: [], foreign: ["10.0.2.0/23"], missing: [] });
        expect(allocator.problems("far").foreign).toEqual(["192.168.7.0/24", "fd99::/64"]);
        expect(assign(allocator, "a")).toBe("10.0.0.0/24 fd00:0:0:1::/64");
        expect(assign(allocator, "b")).toBe("exhausted 10.0.0.0/22");
        expect(allocator.problems("a")).toEqual({ duplicates: [], foreign: [], missing: [] });
    });

    it("finds duplicates on both Nodes, and frees the subnet when the last of them is gone", () => {
        const allocator = new CidrAllocator(four);
        allocator.seen("a", ["10.0.0.0/24"], t0);
        allocator.seen("b", ["10.0.0.0/24"], t0);
        allocator.seen("c", ["10.0.0.128/25"], t0);
        expect(allocator.problems("a").duplicates).toEqual(["b", "c"]);
        expect(allocator.problems("b").duplicates).toEqual(["a", "c"]);
        expect(allocator.problems("c").duplicates).toEqual(["a", "b"]);
        allocator.gone("a", t0);
        allocator.gone("c", t0);
        const later = t0 + 20 * minute;
        for (const node of ["d", "e", "f"]) assign(allocator, node, later);
        expect(assign(allocator, "g", later)).toBe("exhausted 10.0.0.0/22");
        expect(allocator.problems("b").duplicates).toEqual([]);
        allocator.gone("b", later);
        expect(assign(allocator, "g", later + 10 * minute)).toBe("10.0.0.0/24");
    });

    it("gives up a promise when someone else turns up with the subnet, or the Node took another", () => {
        const allocator = new CidrAllocator(four);
        allocator.assign("a", t0);
        allocator.seen("b", ["10.0.0.0/24"], t0);
        expect(allocator.problems("b").duplicates).toEqual([]);
        expect(assign(allocator, "a")).toBe("10.0.1.0/24");
        allocator.assign("c", t0);
        allocator.seen("c", ["10.0.3.0/24"], t0);
        expect(assign(allocator, "d")).toBe("10.0.2.0/24");
    });

    it("forgets what rested long ago beyond a number, never what still rests", () => {
        const settings = { ...four, clusters: [{ prefix: parsePrefix("10.0.0.0/12"), nodeMaskSize: 24 }] };
        const allocator = new CidrAllocator(settings);
        for (let node = 0; node < 2_000; node += 1) {
            assign(allocator, `n${node}`);
            allocator.gone(`n${node}`, t0 + node);
        }
        expect(allocator.prune(t0 + 1_000)).toBe(0);
        expect(allocator.prune(t0 + 20 * minute)).toBe(2_000 - 1_024);
        expect(allocator.goneNodes).toBe(1_024);
        expect(assign(allocator, "n1999", t0 + 20 * minute)).toBe(formatPrefix(parsePrefix("10.7.207.0/24")));
    });

    it("serves 5,000 Nodes of both families within the time of a test", () => {
        const settings: NodeIpamSettings = {
            clusters: [
                { prefix: parsePrefix("10.0.0.0/8"), nodeMaskSize: 24 },
                { prefix: parsePrefix("fd00:10::/48"), nodeMaskSize: 64 },
            ],
            serviceCidrs: [parsePrefix("10.0.0.0/12")],
        };
        const allocator = new CidrAllocator(settings);
        const given = new Set<string>();
        let duplicates = 0;
        for (let node = 0; node < 5_000; node += 1) {
            given.add(assign(allocator, `n${node}`));
            duplicates += allocator.problems(`n${node}`).duplicates.length;
        }
        expect(given.size).toBe(5_000);
        expect(duplicates).toBe(0);
    });
});
