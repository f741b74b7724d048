import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "@jest/globals";
import { readResults, type Outcome, type TestResult } from "../ginkgo-report.ts";
import { disagreements, readLeftOut } from "../left-out.ts";

const folder = mkdtempSync(join(tmpdir(), "kubernetes-e2e-"));
afterAll(() => rmSync(folder, { recursive: true }));

function file(content: string): string {
    const path = join(folder, "file");
    writeFileSync(path, content);
    return path;
}

function result(name: string, outcome: Outcome): TestResult {
    return { name, outcome, message: "", seconds: 0 };
}

const here = new URL("../", import.meta.url).pathname;
const expression = (name: string): RegExp =>
    new RegExp(
        execFileSync("bash", ["-c", `. "$1/choice" && printf %s "$${name}"`, "bash", here], { encoding: "utf8" }),
    );

describe.each([
    ["left-out.txt", "SKIP"],
    ["left-out-without-kube-proxy.txt", "OF_KUBE_PROXY"],
])("%s", (list, skipping) => {
    const leftOut = readLeftOut(join(here, list));
    const tests = leftOut.flatMap((group) => group.tests);

    it("gives a reason for each", () => {
        for (const { reason, tests: names } of leftOut) {
            expect(reason).toMatch(/\.$/);
            expect(names).not.toEqual([]);
        }
    });

    it("names each once", () => {
        expect(tests.filter((name, index) => tests.indexOf(name) !== index)).toEqual([]);
    });

    it("names only what the expression leaves out, and of the group that it chooses from", () => {
        const focus = expression("FOCUS");
        const skip = expression(skipping);
        expect(tests.filter((name) => !focus.test(name) || !skip.test(name))).toEqual([]);
    });
});

describe("readLeftOut", () => {
    it("takes the comment above names as their reason", () => {
        expect(readLeftOut(file("# The kernel\n# has it not.\na b\n\n# No image.\nc\nd\n"))).toEqual([
            { reason: "The kernel has it not.", tests: ["a b"] },
            { reason: "No image.", tests: ["c", "d"] },
        ]);
    });

    it("starts another reason after an empty line", () => {
        expect(readLeftOut(file("# About this list.\n\n# Why.\na\n")).map((group) => group.tests)).toEqual([[], ["a"]]);
    });

    it("refuses a name without a reason", () => {
        expect(() => readLeftOut(file("a\n"))).toThrow('"a" has no reason above it');
    });
});

describe("disagreements", () => {
    const leftOut = [{ reason: "Why.", tests: ["b"] }];

    it("finds none where chosen and left out are all that there is", () => {
        expect(disagreements([result("a", "passed"), result("b", "left out")], leftOut)).toEqual([]);
    });

    it.each<[string, readonly TestResult[], string]>([
        [
            "a test that is left out without a reason",
            [result("a", "left out"), result("b", "left out")],
            "without a reason: a",
        ],
        ["a listed test that ran", [result("b", "passed")], "listed as left out, and chosen: b"],
        ["a listed test that is not there any more", [result("a", "failed")], "no such test: b"],
    ])("finds %s", (_, results, message) => {
        expect(disagreements(results, leftOut)).toEqual([expect.stringContaining(message)]);
    });

    it("finds a test that is listed twice", () => {
        const twice = [...leftOut, { reason: "Again.", tests: ["b"] }];
        expect(disagreements([result("b", "left out")], twice)).toEqual(["listed twice: b"]);
    });
});

describe("readResults", () => {
    const spec = (text: string, state: string, more: object = {}): object => ({
        ContainerHierarchyTexts: ["[sig-network] Services"],
        LeafNodeType: "It",
        LeafNodeText: text,
        State: state,
        RunTime: 1_500_000_000,
        NumAttempts: 1,
        ...more,
    });
    const read = (...specs: readonly object[]): readonly TestResult[] =>
        readResults(file(JSON.stringify([{ SpecReports: specs }])), "[sig-network]");

    it.each<[string, string, object, Outcome]>([
        ["a test that passed", "passed", {}, "passed"],
        ["one that failed", "failed", { Failure: { Message: "no\n answer" } }, "failed"],
        ["one that did not end in time", "timedout", {}, "failed"],
        ["one that was interrupted", "interrupted", {}, "failed"],
        ["one that panicked", "panicked", {}, "failed"],
        ["one that was filtered out", "skipped", { NumAttempts: 0 }, "left out"],
        ["one that is switched off", "pending", { NumAttempts: 0 }, "left out"],
        ["one that skipped itself", "skipped", { Failure: { Message: "needs 3 Nodes" } }, "skipped itself"],
    ])("reads %s", (_, state, more, outcome) => {
        expect(read(spec("should work", state, more))).toEqual([
            expect.objectContaining({ name: "[sig-network] Services should work", outcome, seconds: 1.5 }),
        ]);
    });

    it("puts a message on one line", () => {
        const [failed] = read(spec("should work", "failed", { Failure: { Message: " no\n  answer\n" } }));
        expect(failed?.message).toBe("no answer");
    });

    it("leaves other groups out, but not a failure around the tests", () => {
        const around = { ContainerHierarchyTexts: null, LeafNodeType: "SynchronizedBeforeSuite", LeafNodeText: "" };
        const names = read(
            spec("a", "passed"),
            spec("b", "skipped", { ContainerHierarchyTexts: ["[sig-storage] Volumes"], NumAttempts: 0 }),
            spec("", "passed", around),
            spec("", "failed", around),
        ).map(({ name }) => name);
        expect(names).toEqual(["[sig-network] Services a", "(SynchronizedBeforeSuite)"]);
    });
});

describe("the report", () => {
    const spec = (name: string, state: string): object => ({
        ContainerHierarchyTexts: ["[sig-network]"],
        LeafNodeType: "It",
        LeafNodeText: name,
        State: state,
        RunTime: 1e9,
        NumAttempts: state === "skipped" ? 0 : 1,
    });
    /** Exit code and output of report.ts. */
    const reported = (specs: readonly object[], ...mode: readonly string[]): readonly [number, string] => {
        const [report, list] = [join(folder, "report.json"), join(folder, "list.txt")];
        writeFileSync(report, JSON.stringify([{ SpecReports: specs }]));
        writeFileSync(list, "# Why.\n[sig-network] left\n");
        const { status, stdout } = spawnSync(
            process.execPath,
            [new URL("../report.ts", import.meta.url).pathname, report, list, ...mode],
            { encoding: "utf8" },
        );
        return [status ?? -1, stdout];
    };
    const left = spec("left", "skipped");

    it("counts what passed and failed", () => {
        expect(reported([spec("a", "passed"), left])).toEqual([0, expect.stringMatching(/^1 passed, 0 failed$/m)]);
        const [code, text] = reported([spec("a", "passed"), spec("b", "failed"), left]);
        expect([code, text.trim().split("\n").at(-1)]).toEqual([1, "1 passed, 1 failed"]);
    });

    it("of a run of a part in which nothing ran is a failure", () => {
        const [code, text] = reported([spec("a", "skipped"), left], "--part");
        expect([code, text.trim().split("\n").at(-1)]).toEqual([1, "0 passed, 1 failed"]);
        expect(text).toContain("no test ran");
    });

    it("reports before a run how many of the chosen tests are requested, and fails if none are", () => {
        const specs = [spec("a [Conformance]", "passed"), spec("b", "passed"), left];
        const requesting = (...states: readonly string[]): readonly [number, string] => {
            const file = join(folder, "requested.json");
            writeFileSync(file, JSON.stringify([{ SpecReports: states.map((state) => spec("one", state)) }]));
            return reported(specs, "--choice", file);
        };
        const chosen = "2 tests chosen of 3, 1 left out with a reason";
        expect(requesting("passed", "skipped", "skipped")).toEqual([
            0,
            `${chosen}; 1 of them are requested by their name\n`,
        ]);
        expect(reported(specs, "--choice")).toEqual([0, `${chosen}\n`]);
        const [code, text] = requesting("skipped", "skipped", "skipped");
        expect([code, text]).toEqual([1, expect.stringContaining("no test is requested")]);
    });
});
