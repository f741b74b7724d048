import { describe, expect, it } from "@jest/globals";
import { detailsPage, overviewPage, table } from "../pages.ts";
import { explained, inPlace } from "../report.ts";
import { compared, comparison, fact, figure } from "../result.ts";
import { inTurn, pairRatio, quantile } from "../statistics.ts";

describe("quantile", () => {
    const samples = Array.from({ length: 200 }, (_, index) => 200 - index);
    it.each([
        [0, 1],
        [0.5, 100],
        [0.99, 198],
        [1, 200],
    ])("the share %d of 1 to 200 lies at or below %d", (share, expected) => {
        expect(quantile(samples, share)).toBe(expected);
    });
});

describe("results", () => {
    const pairs = { ours: [10, 20, 400], peer: [10, 10, 100] };

    it("compares the same quantile of both sides, and pair by pair", () => {
        const result = comparison({ id: "x", what: "x", peer: "floor", pairs, maxRatio: 2 });
        expect(result).toMatchObject({ value: 20, against: { what: "floor", value: 10 }, ratio: 2, holds: true });
        expect(pairRatio(pairs)).toBe(2);
    });

    it("holds at the goal and not above it", () => {
        expect(figure({ id: "x", what: "x", value: 120, unit: "MiB", max: 120 }).holds).toBe(true);
        expect(figure({ id: "x", what: "x", value: 120.001, unit: "MiB", max: 120 }).holds).toBe(false);
        expect(figure({ id: "x", what: "x", value: 1, unit: "MiB" }).holds).toBeNull();
    });

    it.each([
        ["more is better and it is enough", { minRatio: 0.9 }, 90, "≥ 0.9×", true],
        ["more is better and it is too little", { minRatio: 0.9 }, 89.9, "≥ 0.9×", false],
        ["less is better and it is enough", { maxRatio: 1.25 }, 125, "≤ 1.25×", true],
        ["less is better and it is too much", { maxRatio: 1.25 }, 125.1, "≤ 1.25×", false],
        ["the value itself is limited and holds, whatever the peer has", { max: 50 }, 50, "≤ 50 /s", true],
        ["the value itself is limited and does not hold", { max: 50 }, 50.1, "≤ 50 /s", false],
        ["there is no goal", {}, 1, null, null],
    ])("judges a ratio where %s", (_name, goals, value, goal, holds) => {
        const result = compared({ id: "x", what: "x", value, unit: "/s", peer: { what: "y", value: 100 }, ...goals });
        expect(result).toMatchObject({ unit: "/s", against: { what: "y", value: 100 }, goal, holds });
    });

    it("compares medians of any unit in pairs", () => {
        const rates = { ours: [500, 600, 700], peer: [500, 500, 500] };
        const result = comparison({ id: "x", what: "x", peer: "y", unit: "/s", pairs: rates, minRatio: 1 });
        expect(result).toMatchObject({ value: 600, unit: "/s", ratio: 1.2, pairRatio: 1.2, holds: true });
    });

    it("gives a reason and a next idea to what is missed, and only to that", () => {
        const of = (holds: boolean): ReturnType<typeof fact> =>
            fact({ id: "x", what: "x", value: 1, unit: "s", goal: "all", holds });
        const [missed, held] = explained([of(false), of(true)]);
        expect(missed).toMatchObject({ reason: expect.any(String), next: expect.any(String) });
        expect(held).not.toHaveProperty("reason");
    });

    it("shows what is missed in the table", () => {
        const missed = comparison({ id: "x", what: "x", peer: "floor", pairs, maxRatio: 1.5 });
        expect(table([missed]).split("\n").at(-1)).toMatch(
            /\| 20 ms \| 10 ms +\| 2× +\| 2× +\| ≤ 1.5× \| \*\*no\*\* \|/,
        );
    });
});

describe("pages", () => {
    const long = `${"a word, ".repeat(20)}and the end`;
    const results = [
        fact({ id: "agent-add-p50", what: "agent ADD, p50", value: 1, unit: "ms", goal: "all", holds: true }),
        { ...fact({ id: "agent-x", what: long, value: 2, unit: "ms", goal: "all", holds: false }), reason: "Slow." },
    ];
    const overview = overviewPage(results, ["- Date: 2026-01-02"], []);
    const details = detailsPage(results, ["- Date: 2026-01-02"]);

    it("have one line for each benchmark, which links to its section", () => {
        expect(overview).toContain("[Agent: ADD and DEL](details.md#agent-add-and-del) ");
        expect(overview.split("\n").filter((line) => line.startsWith("| ["))).toHaveLength(1);
        expect(overview).toMatch(/1 of 2 +\|/);
        expect(details).toContain("\n## Agent: ADD and DEL\n");
    });

    it("have no long cell: the text stands below its table", () => {
        for (const line of details.split("\n").filter((line) => line.startsWith("|")))
            for (const cell of line.split("|")) expect(cell.length).toBeLessThan(90);
        expect(details).toContain(`- \`agent-x\`: ${long}`);
    });

    it("have the reasons of missed goals beside the results, and their count in the overview", () => {
        expect(details).toContain("- `agent-x`: Slow.");
        expect(overview).toContain("[Agent: ADD and DEL](details.md#agent-add-and-del) (1)");
    });
});

describe("inTurn", () => {
    it("lets the other side go first in each second pair", async () => {
        const order: string[] = [];
        for (const index of [0, 1]) {
            await inTurn(
                index,
                async () => void order.push("ours"),
                async () => void order.push("peer"),
            );
        }
        expect(order).toEqual(["ours", "peer", "peer", "ours"]);
    });
});

describe("results of some benchmarks alone", () => {
    const results = (...ids: readonly string[]) =>
        ids.map((id) => figure({ id, what: id, value: 1, unit: "ms", max: 2 }));
    const ids = (earlier: readonly string[], now: readonly string[]): readonly string[] =>
        inPlace(results(...earlier), results(...now)).map(({ id }) => id);

    it("stand where those of their groups stood", () => {
        expect(ids(["a-1", "b-1", "b-2", "c-1", "b-3"], ["b-2", "b-4"])).toEqual(["a-1", "b-2", "b-4", "c-1"]);
    });

    it("of a new group stand at the end", () => {
        expect(ids(["a-1", "b-1"], ["c-1", "d-1"])).toEqual(["a-1", "b-1", "c-1", "d-1"]);
    });
});
