import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { drawAll } from "./charts/charts.ts";
import { detailsPage, groupOf, overviewPage } from "./pages.ts";
import { repository } from "./paths.ts";
import { explain } from "./reasons.ts";
import { type Result } from "./result.ts";

/** Adds reason and next idea to results that miss their goal. */
export function explained(results: readonly Result[]): readonly Result[] {
    return results.map((result) => (result.holds === false ? { ...result, ...explain(result.id) } : result));
}

export interface Run {
    readonly machine: ReadonlyMap<string, string>;
    readonly loadBefore: number;
    readonly seconds: number;
    readonly results: readonly Result[];
}

const folder = join(repository, "docs/benchmarks");
const latestFile = join(folder, "latest.json");
const pageFile = join(folder, "README.md");
const detailsFile = join(folder, "details.md");

/** Writes README.md, details.md, latest.json and the charts of docs/benchmarks. */
export function writeReport(run: Run): void {
    const machine = [...run.machine].map(([name, value]) => `- ${name}: ${value}`);
    write(run.results, [...machine, `- The run: ${runText(run)} (0 is a machine at rest)`]);
}

/** The same with new results of some benchmarks, replacing their earlier ones. */
export function writePart(run: Run): void {
    const earlier = JSON.parse(readFileSync(latestFile, "utf8")) as readonly Result[];
    const groups = [...new Set(run.results.map(({ id }) => groupOf(id)))];
    const notes = machineSection(readFileSync(detailsFile, "utf8")).filter(
        (line) => !groups.some((group) => line.startsWith(`- \`${group}-…\`:`)),
    );
    const day = run.machine.get("Date") ?? "";
    const apart = groups.map((group) => `- \`${group}-…\`: in a run of their own on ${day}, ${runText(run)}`);
    write(inPlace(earlier, run.results), [...notes, ...apart]);
}

/** Rewrites pages and charts from latest.json and the machine in details.md, without a run. */
export function writeAgain(): void {
    const earlier = JSON.parse(readFileSync(latestFile, "utf8")) as readonly Result[];
    // With the current reasons.
    write(explained(earlier), machineSection(readFileSync(detailsFile, "utf8")));
}

/** The results with some groups replaced in place, or appended if new. */
export function inPlace(earlier: readonly Result[], results: readonly Result[]): readonly Result[] {
    const groups = new Set(results.map(({ id }) => groupOf(id)));
    const first = earlier.findIndex(({ id }) => groups.has(groupOf(id)));
    const others = earlier.filter(({ id }) => !groups.has(groupOf(id)));
    const at = first === -1 ? others.length : first;
    return [...others.slice(0, at), ...results, ...others.slice(at)];
}

const rights = "programs with their own tokens, under the chart's RBAC, admission policies and flow control";

function runText({ seconds, loadBefore }: Run): string {
    return `${Math.round(seconds)} s; ${rights}; load average before it ${loadBefore.toFixed(2)}`;
}

function machineSection(text: string): readonly string[] {
    return (/^## Machine\n\n((?:- .*\n)*)/m.exec(text)?.[1] ?? "").split("\n").filter((line) => line !== "");
}

function write(results: readonly Result[], machine: readonly string[]): void {
    mkdirSync(folder, { recursive: true });
    writeFileSync(latestFile, `${JSON.stringify(results, undefined, 4)}\n`);
    const charts = drawAll(results);
    for (const name of readdirSync(folder)) if (name.endsWith(".svg")) rmSync(join(folder, name));
    for (const { file, svg } of charts) writeFileSync(join(folder, file), svg);
    writeFileSync(pageFile, overviewPage(results, machine, charts));
    writeFileSync(detailsFile, detailsPage(results, machine));
}
