import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";

interface Result {
    readonly target: string;
    readonly executions: number;
    readonly edges: number;
    readonly corpus: number;
    readonly findings: readonly { readonly kind: string; readonly text: string; readonly input: string }[];
}

const folder = mkdtempSync(join(tmpdir(), "fuzz-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let runs = 0;

/** Runs the fuzzer in a process of its own. */
async function fuzz(...options: readonly string[]): Promise<{
    readonly exitCode: number;
    readonly output: string;
    readonly results: readonly Result[];
}> {
    const json = join(folder, `${(runs += 1)}.json`);
    const main = join(import.meta.dirname, "../main.ts");
    const { exitCode, output } = await new Promise<{ exitCode: number; output: string }>((resolve) => {
        const child = execFile(process.execPath, [main, "--json", json, ...options], (_error, stdout, stderr) => {
            resolve({ exitCode: child.exitCode ?? -1, output: stdout + stderr });
        });
    });
    return { exitCode, output, results: JSON.parse(readFileSync(json, "utf8")) as readonly Result[] };
}

/** Few executions, so that the outcome depends on the seed and not on the machine. */
const toys = ["--seconds", "240", "--seed", "1", "--executions"];

describe("the fuzzer", () => {
    it("finds by coverage what chance does not", async () => {
        const guided = await fuzz(...toys, "600000", "magic");
        expect(guided.results[0]?.findings[0]?.text).toContain("the seeded crash");
        expect(guided.exitCode).toBe(1);
        // The smallest input, and the command that shows the crash again.
        const input = Buffer.from(guided.results[0]?.findings[0]?.input ?? "", "base64");
        expect(input).toHaveLength(10);
        const [, target = "", file = ""] = /tools\/fuzz\/run\.sh (\S+) (\S+)/.exec(guided.output) ?? [];
        expect(target).toBe("magic");
        expect(readFileSync(join(import.meta.dirname, "../../..", file))).toEqual(input);

        const blind = await fuzz(...toys, "600000", "--unguided", "magic");
        expect(blind.results[0]?.findings).toEqual([]);
        expect(blind.exitCode).toBe(0);
        expect(blind.results[0]?.edges).toBeLessThan(guided.results[0]?.edges ?? 0);
    });

    it("finds by comparisons what no seed has", async () => {
        const { results } = await fuzz(...toys, "50000", "words");
        expect(results[0]?.findings[0]?.text).toContain("the seeded crash");
    });

    it("gives the same for the same seed", async () => {
        const [one, two] = [await fuzz(...toys, "20000", "magic"), await fuzz(...toys, "20000", "magic")];
        const comparable = ({ executions, edges, corpus }: Result) => ({ executions, edges, corpus });
        expect(one.results.map(comparable)).toEqual(two.results.map(comparable));
    });

    describe("finds", () => {
        let found: Awaited<ReturnType<typeof fuzz>>;
        beforeAll(async () => {
            found = await fuzz("--seconds", "24", "--limit-ms", "1000", "hang", "hog", "leak");
        });

        it.each([
            ["hang", "hang"],
            ["hog", "memory"],
            ["leak", "memory"],
        ])("a %s", (name, kind) => {
            const { findings = [] } = found.results.find(({ target }) => target === name) ?? {};
            expect(findings.map((finding) => finding.kind)).toContain(kind);
            expect(found.exitCode).toBe(1);
        });
    });
});

describe("what takes bytes and texts of others", () => {
    it("stands the corpus, and some seconds of mutations", async () => {
        const { results, output, exitCode } = await fuzz("--seconds", "20");
        expect(results.flatMap(({ target, findings }) => findings.map(({ text }) => `${target}: ${text}`))).toEqual([]);
        expect([exitCode, output]).toEqual([0, expect.stringContaining("openflow-message")]);
        for (const { target, executions, edges } of results) {
            expect({ target, enough: executions > 50 && edges > 10 }).toEqual({ target, enough: true });
        }
    });
});
