import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { type JudgedMutant, type JudgeOptions, judgeArea, UnfitTests } from "../judge.ts";
import { lineOf, scoreOf, survivorsOf, tableOf } from "../report.ts";

const area = { name: "toy", project: "toy", folder: "toy/src", least: 85 };
const source = `
export class ToyError extends Error {
    readonly code: string;
    constructor(code: string, words: string) {
        super(words);
        this.code = code;
    }
}
export const strict: boolean = true;
export function within(value: number): boolean {
    if (value < 0) throw new ToyError("NEGATIVE", "it must be no less than 0");
    return value <= 10;
}
export function forgotten(): number {
    return 1 + 1;
}
export function sum(values: readonly number[]): number {
    let all = 0;
    for (let at = 0; at < values.length; at += 1) all += values[at]!;
    return all;
}
export async function settled(): Promise<string> {
    await new Promise<void>((resolve) => { if (strict) setImmediate(() => resolve()); });
    return "settled";
}
`;
const tests = `
import { beforeAll, describe, expect, it, jest } from "@jest/globals";
import { settled, strict, sum, within } from "../src/toy.ts";

describe("a toy", () => {
    let all: number;
    beforeAll(() => { all = sum([1, 2, 3]); });
    it.each([[5, true], [11, false]])("has %i within: %p", (value, expected) => expect(within(value)).toBe(expected));
    it("refuses what is negative", () => expect(() => within(-1)).toThrow(expect.objectContaining({ code: "NEGATIVE" })));
    it("sums", () => expect(all).toBe(6));
    it("is strict", () => expect(strict).toBe(true));
    // put back after each test, and never by it
    it("counts", () => {
        const absolute = jest.spyOn(Math, "abs").mockReturnValue(7);
        expect([Math.abs(-1), absolute.mock.calls.length]).toEqual([7, 1]);
    });
    it("counts anew", () => expect(Math.abs(-1)).toBe(1));
    it("settles", async () => expect(await settled()).toBe("settled"));
});
`;

let root: string;

beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "toy-"));
    write("toy/src/toy.ts", source);
    write("toy/test/toy.test.ts", tests);
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(file: string, text: string): void {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
}

async function judge(over: Partial<JudgeOptions> = {}): ReturnType<typeof judgeArea> {
    const scratch = mkdtempSync(join(root, "scratch-"));
    const options = { root, scratch, area, files: ["toy/src/toy.ts"], seed: 1, sample: 1000, workers: 2 };
    return judgeArea({ ...options, deadline: Infinity, onVerdict: () => undefined, ...over });
}

it("finds what the tests see, what they do not see, and what they never run", async () => {
    const result = await judge();
    const byChange = new Map(
        result.judged.map((mutant): [string, JudgedMutant] => [`${mutant.original} → ${mutant.replacement}`, mutant]),
    );
    const verdictOf = (change: string): string | undefined => byChange.get(change)?.verdict;
    expect(verdictOf("value <= 10 → value < 10")).toBe("survived");
    expect(verdictOf("value <= 10 → value > 10")).toBe("killed");
    expect(verdictOf("value < 0 → value <= 0")).toBe("survived");
    expect(verdictOf('"NEGATIVE" → ""')).toBe("killed");
    expect(verdictOf("1 + 1 → 1 - 1")).toBe("unseen");
    // it runs when the file is loaded
    expect(byChange.get("true → false")).toMatchObject({ verdict: "killed", by: expect.stringContaining("is strict") });
    // its tests see it through a hook before all of them
    expect(byChange.get("all += values[at]! → all -= values[at]!")?.by).toContain("sums");
    // without an end, and never settled
    expect(verdictOf("at += 1 → at -= 1")).toBe("time");
    expect(verdictOf("strict → false")).toBe("time");
    // words for people are left out, codes are not
    expect(result.words).toBe(1);
    expect([...byChange.keys()].filter((change) => change.startsWith('"it must'))).toEqual([]);
    expect(result.judged).toHaveLength(result.mutants);
    expect(survivorsOf(result).map(({ verdict }) => verdict)).toEqual(
        expect.arrayContaining(["survived", "survived", "unseen"]),
    );
    expect(tableOf([result])).toContain(`${scoreOf(result).toFixed(1)} %`);
    expect(lineOf(byChange.get("1 + 1 → 1 - 1") as JudgedMutant)).toContain("no test runs through it");
}, 300_000);

it("judges the same sample for the same seed, and none when the time is over", async () => {
    const places = async (seed: number): Promise<readonly string[]> => {
        const { judged } = await judge({ seed, sample: 4 });
        return judged.map(({ line, original, replacement }) => `${line} ${original} ${replacement}`).toSorted();
    };
    const first = await places(1);
    expect(first).toHaveLength(4);
    expect(await places(1)).toEqual(first);
    expect(await places(2)).not.toEqual(first);
    expect((await judge({ deadline: 0 })).judged).toEqual([]);
}, 300_000);

it("judges nothing by tests that fail anyway", async () => {
    write("toy/test/red.test.ts", `${tests}it("is red", () => expect(within(5)).toBe(false));`);
    await expect(judge()).rejects.toThrow(UnfitTests);
    await expect(judge()).rejects.toThrow(/"toy\/test\/red\.test\.ts › is red" fails/);
    write("toy/test/red.test.ts", 'import "../src/not-there.ts";');
    await expect(judge()).rejects.toThrow("not-there.ts");
}, 300_000);
