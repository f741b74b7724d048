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

function assign(book: CidrAllocator, node: string, now = t0): string {
    const assignment = book.assign(node, now);
    if (assignment.kind === "exhausted") return `exhausted ${assignment.clusters.map(formatPrefix).join(" ")}`;
    book.seen(node, assignment.cidrs.map(formatPrefix), now);
    return assignment.cidrs.map(formatPrefix).join(" ");
}

describe("CidrAllocator", () => {
    it("gives both families, in the order of the configuration", () => {
        const book = new CidrAllocator({ ...dual, clusters: [...dual.clusters].reverse() });
        expect(assign(book, "a")).toBe("fd00::/64 10.0.0.0/24");
        expect(assign(book, "b")).toBe("fd00:0:0:1::/64 10.0.1.0/24");
    });

    it("gives the same again as long as the Node has not taken it", () => {
        const book = new CidrAllocator(dual);
        const first = book.assign("a", t0);
        expect(book.assign("a", t0)).toEqual(first);
        expect(first).toMatchObject({ kind: "assigned", recorded: false });
        book.recorded(book.snapshot());
        expect(book.assign("a", t0)).toMatchObject({ recorded: true });
    });

    it("carves out Service CIDRs, whole and in part", () => {
        const serviceCidrs = [parsePrefix("10.0.0.0/23"), parsePrefix("fd00:0:0:1::/108")];
        const book = new CidrAllocator({ ...dual, serviceCidrs });
        expect(assign(book, "a")).toBe("10.0.2.0/24 fd00::/64");
        expect(assign(book, "b")).toBe("10.0.3.0/24 fd00:0:0:2::/64");
        expect(assign(book, "c")).toBe("exhausted 10.0.0.0/22");
    });

    it("gives no subnet that an IPPool or one of its claims touches, and gives it when they are gone", () => {
        const book = new CidrAllocator(dual);
        const address = (text: string): IpRange => rangeOf(parseIp(text));
        book.reserve("pool a", [rangeOf(parseIp("10.0.0.250"), parseIp("10.0.1.3")), address("fd00:0:0:2::9")]);
        book.reserve("claim 10.0.2.7", [address("10.0.2.7")]);
        book.reserve("claim 192.168.0.1", [address("192.168.0.1")]);
        expect(book.usage).toMatchObject([{ free: 1 }, { free: 3 }]);
        expect(assign(book, "a")).toBe("10.0.3.0/24 fd00::/64");
        expect(assign(book, "b")).toBe("exhausted 10.0.0.0/22");
        book.reserve("claim 10.0.2.7", []);
        expect(assign(book, "b")).toBe("10.0.2.0/24 fd00:0:0:1::/64");
        book.reserve("pool a", [address("10.0.1.3")]);
        expect(assign(book, "c")).toBe("10.0.0.0/24 fd00:0:0:2::/64");
        book.reserve("pool a", []);
        expect(assign(book, "d")).toBe("10.0.1.0/24 fd00:0:0:3::/64");
        expect(book.room(t0)).toBe(0);
    });

    it("rests a subnet for ten minutes by both clocks: neither a jump of wall time nor a standstill ends it", () => {
        let monotonic = 5 * minute;
        const book = new CidrAllocator(four, () => monotonic);
        book.load(
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
        for (const node of ["a", "b", "c"]) assign(book, node);
        book.gone("a", t0);
        // A jump of an hour.
        expect(assign(book, "d", t0 + 60 * minute)).toBe("exhausted 10.0.0.0/22");
        expect(book.room(t0 + 60 * minute)).toBe(0);
        monotonic += 6 * minute;
        expect(assign(book, "d", t0 + 60 * minute)).toBe("10.0.3.0/24");
        monotonic += 4 * minute;
        // Wall time was set back.
        expect(assign(book, "e", t0)).toBe("exhausted 10.0.0.0/22");
        expect(assign(book, "e", t0 + 10 * minute)).toBe("10.0.0.0/24");
    });

    it("calls a promise recorded when the ledger that was written has that very promise", () => {
        const book = new CidrAllocator(four);
        expect(book.assign("a", t0)).toMatchObject({ cidrs: [parsePrefix("10.0.0.0/24")] });
        const old = book.snapshot();
        book.gone("a", t0);
        book.seen("b", ["10.0.0.0/24"], t0);
        expect(book.assign("a", t0)).toMatchObject({ cidrs: [parsePrefix("10.0.1.0/24")], recorded: false });
        book.recorded(old);
        expect(book.assign("a", t0)).toMatchObject({ cidrs: [parsePrefix("10.0.1.0/24")], recorded: false });
    });

    it("takes back a promise, and what a Node had before, where a pool was made since", () => {
        const book = new CidrAllocator(four);
        expect(book.assign("a", t0)).toMatchObject({ cidrs: [parsePrefix("10.0.0.0/24")] });
        book.reserve("pool p", [prefixRange(parsePrefix("10.0.0.128/25"))]);
        expect(assign(book, "a")).toBe("10.0.1.0/24");
        book.gone("a", t0);
        book.reserve("pool q", [prefixRange(parsePrefix("10.0.1.0/30"))]);
        expect(assign(book, "a")).toBe("10.0.2.0/24");
    });

    it("leaves a Node the subnet that it has, whatever pool is made of it", () => {
        const book = new CidrAllocator(four);
        expect(assign(book, "a")).toBe("10.0.0.0/24");
        book.reserve("pool p", [prefixRange(parsePrefix("10.0.0.0/24"))]);
        expect(book.problems("a")).toEqual({ duplicates: [], foreign: [], missing: [] });
        expect([...book.nodes()]).toEqual(["a"]);
    });

    it("takes nothing of one family when the other has none", () => {
        const book = new CidrAllocator({ ...dual, serviceCidrs: [parsePrefix("fd00::/62")] });
        expect(assign(book, "a")).toBe("exhausted fd00::/62");
        expect(assign(book, "a")).toBe("exhausted fd00::/62");
        expect(book.usage).toMatchObject([{ free: 4 }, { free: 0 }]);
    });

    it("rests a subnet for ten minutes, and says when it is free", () => {
        const book = new CidrAllocator(four);
        for (const node of ["a", "b", "c", "d"]) assign(book, node);
        book.gone("b", t0);
        book.gone("a", t0 + minute);
        expect(book.assign("e", t0 + minute)).toMatchObject({ kind: "exhausted", freeAtMs: t0 + 10 * minute });
        expect(assign(book, "e", t0 + 10 * minute - 1)).toBe("exhausted 10.0.0.0/22");
        expect(assign(book, "e", t0 + 10 * minute)).toBe("10.0.1.0/24");
        expect(assign(book, "f", t0 + 10 * minute)).toBe("exhausted 10.0.0.0/22");
        expect(assign(book, "f", t0 + 11 * minute)).toBe("10.0.0.0/24");
    });

    it("reuses a rested subnet last, the longest gone first", () => {
        const book = new CidrAllocator(four);
        assign(book, "a");
        assign(book, "b");
        book.gone("b", t0);
        book.gone("a", t0 + 1);
        const later = t0 + 60 * minute;
        expect(["c", "d", "e", "f"].map((node) => assign(book, node, later))).toEqual([
            "10.0.2.0/24",
            "10.0.3.0/24",
            "10.0.1.0/24",
            "10.0.0.0/24",
        ]);
    });

    it("gives a Node that returns its own back, at once and after a long time", () => {
        const book = new CidrAllocator(dual);
        assign(book, "a");
        assign(book, "b");
        book.gone("a", t0);
        expect(assign(book, "a", t0 + 1)).toBe("10.0.0.0/24 fd00::/64");
        book.gone("a", t0 + 2);
        expect(assign(book, "a", t0 + 600 * minute)).toBe("10.0.0.0/24 fd00::/64");
    });

    it("gives a Node that returns something else when its own was given away or is no subnet any more", () => {
        const book = new CidrAllocator(four);
        for (const node of ["a", "b", "c", "d"]) assign(book, node);
        book.gone("a", t0);
        assign(book, "e", t0 + 10 * minute);
        book.gone("b", t0 + 10 * minute);
        expect(assign(book, "a", t0 + 20 * minute)).toBe("10.0.1.0/24");

        const other = new CidrAllocator({
            ...four,
            clusters: [{ prefix: parsePrefix("10.0.0.0/22"), nodeMaskSize: 23 }],
        });
        other.load(book.snapshot(), t0);
        other.gone("c", t0);
        expect(assign(other, "c", t0 + 1)).toMatch(/^exhausted/);
    });

    it("keeps what Nodes have, also outside of the configuration, and marks it used", () => {
        const book = new CidrAllocator(dual);
        book.seen("old", ["10.0.1.0/24"], t0);
        book.seen("wide", ["10.0.2.0/23", "fd00::/64"], t0);
        book.seen("far", ["192.168.7.0/24", "fd99::/64"], t0);
        expect(book.problems("old")).toEqual({ duplicates: [], foreign: [], missing: [6] });
        expect(book.problems("wide")).toEqual({ duplicates: [], foreign: ["10.0.2.0/23"], missing: [] });
        expect(book.problems("far").foreign).toEqual(["192.168.7.0/24", "fd99::/64"]);
        expect(assign(book, "a")).toBe("10.0.0.0/24 fd00:0:0:1::/64");
        expect(assign(book, "b")).toBe("exhausted 10.0.0.0/22");
        expect(book.problems("a")).toEqual({ duplicates: [], foreign: [], missing: [] });
    });

    it("finds duplicates on both Nodes, and frees the subnet when the last of them is gone", () => {
        const book = new CidrAllocator(four);
        book.seen("a", ["10.0.0.0/24"], t0);
        book.seen("b", ["10.0.0.0/24"], t0);
        book.seen("c", ["10.0.0.128/25"], t0);
        expect(book.problems("a").duplicates).toEqual(["b", "c"]);
        expect(book.problems("b").duplicates).toEqual(["a", "c"]);
        expect(book.problems("c").duplicates).toEqual(["a", "b"]);
        book.gone("a", t0);
        book.gone("c", t0);
        const later = t0 + 20 * minute;
        for (const node of ["d", "e", "f"]) assign(book, node, later);
        expect(assign(book, "g", later)).toBe("exhausted 10.0.0.0/22");
        expect(book.problems("b").duplicates).toEqual([]);
        book.gone("b", later);
        expect(assign(book, "g", later + 10 * minute)).toBe("10.0.0.0/24");
    });

    it("gives up a promise when someone else turns up with the subnet, or the Node took another", () => {
        const book = new CidrAllocator(four);
        book.assign("a", t0);
        book.seen("b", ["10.0.0.0/24"], t0);
        expect(book.problems("b").duplicates).toEqual([]);
        expect(assign(book, "a")).toBe("10.0.1.0/24");
        book.assign("c", t0);
        book.seen("c", ["10.0.3.0/24"], t0);
        expect(assign(book, "d")).toBe("10.0.2.0/24");
    });

    it("forgets what rested long ago beyond a number, never what still rests", () => {
        const settings = { ...four, clusters: [{ prefix: parsePrefix("10.0.0.0/12"), nodeMaskSize: 24 }] };
        const book = new CidrAllocator(settings);
        for (let node = 0; node < 2_000; node += 1) {
            assign(book, `n${node}`);
            book.gone(`n${node}`, t0 + node);
        }
        expect(book.prune(t0 + 1_000)).toBe(0);
        expect(book.prune(t0 + 20 * minute)).toBe(2_000 - 1_024);
        expect(book.goneNodes).toBe(1_024);
        expect(assign(book, "n1999", t0 + 20 * minute)).toBe(formatPrefix(parsePrefix("10.7.207.0/24")));
    });

    it("serves 5,000 Nodes of both families within the time of a test", () => {
        const settings: NodeIpamSettings = {
            clusters: [
                { prefix: parsePrefix("10.0.0.0/8"), nodeMaskSize: 24 },
                { prefix: parsePrefix("fd00:10::/48"), nodeMaskSize: 64 },
            ],
            serviceCidrs: [parsePrefix("10.0.0.0/12")],
        };
        const book = new CidrAllocator(settings);
        const given = new Set<string>();
        let duplicates = 0;
        for (let node = 0; node < 5_000; node += 1) {
            given.add(assign(book, `n${node}`));
            duplicates += book.problems(`n${node}`).duplicates.length;
        }
        expect(given.size).toBe(5_000);
        expect(duplicates).toBe(0);
    });
});
