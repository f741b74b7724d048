import { describe, expect, it } from "@jest/globals";
import { parse } from "yaml";
import {
    age,
    amount,
    bar,
    count,
    fields,
    fold,
    formatReport,
    list,
    oneLine,
    percent,
    someOf,
    styleFor,
    table,
    widthOf,
    type Style,
} from "../../src/output/index.ts";
import { plain } from "../support/objects.ts";

const style = (environment: Record<string, string>, isTty = true, columns?: number): Style =>
    styleFor({ isTty, columns, environment });

describe("styleFor", () => {
    it.each([
        ["a terminal", { TERM: "xterm", LANG: "de_DE.UTF-8" }, true, true, true],
        ["a pipe", { TERM: "xterm", LANG: "de_DE.utf8" }, false, false, true],
        ["NO_COLOR", { TERM: "xterm", NO_COLOR: "1" }, true, false, false],
        ["a dumb terminal", { TERM: "dumb" }, true, false, false],
        ["LC_ALL before LANG", { LC_ALL: "C", LANG: "en_US.UTF-8" }, false, false, false],
    ])("%s", (_name, environment, isTty, coloured, unicode) => {
        const made = style(environment as unknown as Record<string, string>, isTty);
        expect(made.bad("x") !== "x").toBe(coloured);
        expect(made.unicode).toBe(unicode);
    });

    it("folds to the terminal, or to 100 columns where there is none", () => {
        expect(style({}, true, 132).columns).toBe(132);
        expect(style({}, true, 20).columns).toBe(60);
        expect(style({}, false, 132).columns).toBe(100);
    });
});

describe("bar", () => {
    it.each([
        [0, 0, 0, "[░░░░░░░░░░]", "-"],
        [9, 0, 0, "[░░░░░░░░░░]", "0%"],
        [10, 5, 2, "[█████▒▒░░░]", "70%"],
        [10, 0, 3, "[▒▒▒░░░░░░░]", "30%"],
        [1_000, 1, 0, "[█░░░░░░░░░]", "<1%"],
        [1_000, 999, 0, "[█████████░]", "99%"],
        [1_000, 500, 1, "[████▒░░░░░]", "50%"],
        [10, 10, 0, "[██████████]", "100%"],
        [10, 9, 1, "[█████████▒]", "100%"],
        [2, 9, 1, "[█████▒▒▒▒▒]", "100%"],
        [Number.MAX_SAFE_INTEGER, 1, 0, "[█░░░░░░░░░]", "<1%"],
    ])("of %d, %d used and %d reserved", (total, used, reserved, text, part) => {
        expect(bar({ total, used, reserved }, plain, 10)).toBe(text);
        expect(percent({ total, used, reserved })).toBe(part);
    });

    it("does without characters outside ASCII", () => {
        expect(bar({ total: 10, used: 5, reserved: 2 }, style({}, false), 10)).toBe("[#####==...]");
    });
});

describe("table", () => {
    const columns = [
        { title: "NAME", value: (row: readonly string[]) => row[0] ?? "" },
        { title: "N", value: (row: readonly string[]) => row[1] ?? "", align: "right" as const },
        { title: "TEXT", value: (row: readonly string[]) => row[2] ?? "" },
    ];

    it("aligns columns, shows what is empty as -, and leaves no blanks at ends of lines", () => {
        expect(
            table(
                columns,
                [
                    ["a", "1", "x"],
                    ["long-name", "100", ""],
                ],
                plain,
            ),
        ).toBe(["NAME          N   TEXT", "a             1   x", "long-name   100   -"].join("\n"));
    });

    it("folds the last column to the line", () => {
        const text = table(columns, [["a", "1", "word ".repeat(30).trim()]], plain);
        const lines = text.split("\n");
        expect(lines.length).toBe(3);
        expect(Math.max(...lines.map(widthOf))).toBeLessThanOrEqual(100);
        expect(lines[2]).toMatch(/^ {11}word/);
    });

    it("does not count colours as width", () => {
        const coloured = style({ TERM: "xterm", LANG: "C.UTF-8" });
        const rows = [[coloured.bad("ab"), "1", "x"]];
        expect(table(columns, rows, coloured).split("\n")[1]).toBe(`${coloured.bad("ab")}     1   x`);
    });
});

describe("fields and list", () => {
    it("align and fold values beside their names", () => {
        const text = fields(
            [
                ["A", "1"],
                ["Longer", "word ".repeat(30)],
            ],
            plain,
        );
        expect(text.split("\n")[0]).toBe("A:        1");
        expect(Math.max(...text.split("\n").map(widthOf))).toBeLessThanOrEqual(100);
    });

    it("keep the lines of an item", () => {
        expect(list(["a\nb", "c"], plain)).toBe("  - a\n    b\n  - c");
    });
});

describe("text", () => {
    it.each([
        ["a\u001b[31mb", "a [31mb"],
        [" a\r\n\tb ", "a b"],
        ["a\u009bc\u2028d", "a c d"],
    ])("oneLine(%j) takes control characters away", (text, line) => {
        expect(oneLine(text)).toBe(line);
    });

    it("fold keeps long words whole", () => {
        expect(fold("aa bbbbbbbb c", 4)).toEqual(["aa", "bbbbbbbb", "c"]);
    });

    it.each([
        [0, "0 allocations"],
        [1, "1 allocation"],
        [2n, "2 allocations"],
    ])("count(%s)", (n, text) => {
        expect(count(n, "allocation")).toBe(text);
    });

    it("someOf reports how many more there are", () => {
        expect(someOf(["a", "b", "c"], 2)).toBe("a, b and 1 more");
        expect(someOf(["a", "b"], 2)).toBe("a, b");
    });

    it.each([
        [undefined, "-"],
        [0, "0"],
        [Number.MAX_SAFE_INTEGER, ">9e15"],
    ])("amount(%s)", (n, text) => {
        expect(amount(n)).toBe(text);
    });
});

describe("age", () => {
    const start = Date.parse("2026-01-01T00:00:00Z");
    it.each([
        [0, "0s"],
        [59, "59s"],
        [61, "1m1s"],
        [600, "10m"],
        [3_600 * 3 + 240, "3h4m"],
        [86_400 * 3, "3d"],
        [86_400 * 3 + 3_600 * 5, "3d5h"],
        [86_400 * 40 + 3_600, "40d"],
    ])("after %d seconds", (seconds, text) => {
        expect(age("2026-01-01T00:00:00Z", start + seconds * 1_000)).toBe(text);
    });

    it.each([undefined, "never"])("of %s is not known", (since) => {
        expect(age(since, start)).toBe("-");
    });
});

describe("formatReport", () => {
    const report = { a: [1, "x: y"], b: { c: undefined, d: "on" } };
    it("writes JSON and YAML that read back as the report", () => {
        expect(JSON.parse(formatReport(report, "json", () => ""))).toEqual({ a: [1, "x: y"], b: { d: "on" } });
        expect(parse(formatReport(report, "yaml", () => ""))).toEqual({ a: [1, "x: y"], b: { d: "on" } });
        expect(formatReport(report, "table", () => "text")).toBe("text\n");
    });
});
