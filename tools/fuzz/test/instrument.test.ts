import { describe, expect, it } from "@jest/globals";
import { instrument } from "../build/instrument.ts";
import { Probes } from "../engine/probes.ts";

interface Ran {
    readonly value: unknown;
    readonly probes: Probes;
}

/** Runs `code`, the body of a function of `x`, with probes. */
function ran(code: string, x?: unknown, probes = new Probes()): Ran {
    const whole = instrument(`globalThis.fuzzed = function (x) { ${code} };`, "a.ts");
    globalThis.antreaProbes = probes;
    // The instrumented text is what is tested.
    new Function(whole)();
    const { fuzzed } = globalThis as unknown as { readonly fuzzed: (x: unknown) => unknown };
    probes.clear();
    return { value: fuzzed(x), probes };
}

const taken = ({ probes }: Ran): number => probes.hits.reduce((sum, count) => sum + (count > 0 ? 1 : 0), 0);

describe("instrumented code does the same", () => {
    it.each<[string, string, unknown, unknown]>([
        ["if without else", "if (x) return 1; return 2;", 0, 2],
        ["else if", "if (x === 1) return 'a'; else if (x === 2) return 'b'; else return 'c';", 2, "b"],
        ["an if inside an if", "if (x) if (x > 5) return 'big'; else return 'small'; return 'none';", 1, "small"],
        ["a condition in a condition", "return x ? x > 1 ? 'many' : 'one' : 'none';", 1, "one"],
        ["and, or, nullish", "return (x && x.a) ?? (x || 'nothing');", { a: null }, { a: null }],
        [
            "loops",
            "let s = 0; for (const y of x) s += y; while (s < 10) s++; do s++; while (s < 12); return s;",
            [1, 2],
            12,
        ],
        [
            "a switch with fall-through",
            "switch (x) { case 1: case 2: return 'low'; case 3: { return 'three'; } default: return '?'; }",
            2,
            "low",
        ],
        ["arrows", "return [1, 2, 3].map((y) => ({ y })).filter(({ y }) => y !== 2).length;", 0, 2],
        ["a comparison of sequences", "return (x, 3) === (1, 3) && (2) >= ((1));", 0, true],
        ["catch", "try { x.y.z; return 'fine'; } catch (error) { return error.name; }", {}, "TypeError"],
        [
            "questions",
            "return new Set(x).has('a') && Object.hasOwn({ b: 1 }, 'b') && 'abc'.startsWith('ab');",
            ["a"],
            true,
        ],
        ["a generator", "function* g() { for (let i = 0; i < x; i++) yield i; } return [...g()].join();", 3, "0,1,2"],
        [
            "labels",
            "outer: for (const a of [1, 2]) { for (const b of [1, 2]) { if (b === 2) continue outer; if (a === 2) break outer; } } return 1;",
            0,
            1,
        ],
    ])("%s", (_name, code, x, value) => {
        expect(ran(code, x).value).toEqual(value);
    });
});

describe("probes", () => {
    it.each<[string, string, number, number]>([
        ["both sides of an if", "if (x > 5) return 1; return 2;", 9, 2],
        ["both sides of a condition", "return x > 5 ? 1 : 2;", 9, 2],
        ["the right side of and", "return x > 0 && x < 5;", 9, -1],
    ])("report %s", (_name, code, one, other) => {
        const [first, second] = [ran(code, one), ran(code, other)];
        expect([...first.probes.hits.subarray(0, 9)]).not.toEqual([...second.probes.hits.subarray(0, 9)]);
        expect(Math.min(taken(first), taken(second))).toBeGreaterThan(0);
    });

    it("count", () => {
        const { probes } = ran("let s = 0; for (const y of x) s += y; return s;", [1, 2, 3]);
        expect([...probes.hits]).toContain(3);
    });

    it("report what was compared and asked for", async () => {
        const probes = new Probes();
        ran("switch (x) { case 7: return 1; } return x === 'word' || Object.hasOwn({}, 'member');", 1, probes);
        const { fuzzed } = globalThis as unknown as { readonly fuzzed: (x: unknown) => unknown };
        const { comparisons, texts } = await probes.watch(() => fuzzed(1));
        expect(comparisons).toEqual([
            [1, 7],
            [1, "word"],
        ]);
        expect(texts).toEqual(["member"]);
    });

    it("know the words of the files that were reached", () => {
        const { probes } = ran("return x.property === 'a word';", {});
        expect(probes.tokens((probe) => probes.hits[probe] !== 0)).toEqual(
            expect.arrayContaining(["property", "a word"]),
        );
        expect(probes.tokens(() => false)).toEqual([]);
    });
});
