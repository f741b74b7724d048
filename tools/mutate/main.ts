import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { areas, changedSince, sourcesOf } from "./areas.ts";
import { type AreaResult, judgeArea, UnfitTests } from "./judge.ts";
import { writeRows } from "@antrea/testing-page";
import { head, lineOf, rowsOf, scoreOf, survivorsOf, tableOf } from "./report.ts";

const usage = `main.ts [OPTION...]    changes the code in one place after the other and checks whether unit tests notice (docs/testing.md)
  --base REVISION   judges the files that changed since this branch left it; default main
  --all             all files of all areas
  --project NAME    of one area or project only, such as libs/ip or apps/agent
  --file FILE       one file only
  --sample N        at most N mutants of each area, chosen by --seed
  --seed N          default 1
  --minutes N       ends after so long with what it has; default 30
  --workers N       processes at once; default 2
  --write           writes the scores into docs/testing.md
  --json FILE       the results, for programs; default .reports/mutate.json`;

const { values } = parseArgs({
    options: {
        base: { type: "string", default: "main" },
        all: { type: "boolean", default: false },
        project: { type: "string" },
        file: { type: "string" },
        sample: { type: "string", default: "1000000" },
        seed: { type: "string", default: "1" },
        minutes: { type: "string", default: "30" },
        workers: { type: "string", default: "2" },
        write: { type: "boolean", default: false },
        json: { type: "string", default: ".reports/mutate.json" },
        help: { type: "boolean", default: false },
    },
});
const root = dirname(dirname(import.meta.dirname));
/** With fewer mutants a score is not meaningful. */
const enoughMutants = 20;

const say = (text: string): void => void process.stdout.write(`${text}\n`);
process.exitCode = values.help ? help() : await mutate();

function help(): number {
    say(usage);
    return 0;
}

async function mutate(): Promise<number> {
    const work = filesByArea();
    if (work.length === 0) {
        say("no file of any area is chosen, so nothing was judged; --all takes all, --project and --file name some");
        return values.project === undefined && values.file === undefined ? 0 : 2;
    }
    const deadline = performance.now() + Number(values.minutes) * 60_000;
    const results: AreaResult[] = [];
    for (const { area, files } of work) {
        if (performance.now() > deadline) break;
        const scratch = mkdtempSync(join(tmpdir(), "mutate-"));
        try {
            results.push(await judged({ area, files, scratch, deadline }));
        } catch (error) {
            if (!(error instanceof UnfitTests)) throw error;
            say(`${area.name}: ${error.message}\nnext: tools/run-jest.sh unit ${area.project}`);
            return 1;
        } finally {
            rmSync(scratch, { recursive: true, force: true });
        }
    }
    if (values.write) await writeRows(root, "scores", head, rowsOf(results, revision()));
    return report(
        results,
        work.slice(results.length).map(({ area }) => area.name),
    );
}

function filesByArea(): readonly Pick<Parameters<typeof judged>[0], "area" | "files">[] {
    const { file, project } = values;
    const changed =
        values.all || file !== undefined || project !== undefined ? undefined : changedSince(values.base, root);
    return areas
        .filter((area) => project === undefined || area.project === project || area.name === project)
        .map((area) => {
            const sources = sourcesOf(area, root);
            const files = sources.filter(
                (name) => (file === undefined || name === file) && (changed?.includes(name) ?? true),
            );
            return { area, files };
        })
        .filter(({ files }) => files.length > 0);
}

async function judged(
    what: Pick<Parameters<typeof judgeArea>[0], "area" | "files" | "scratch" | "deadline">,
): Promise<AreaResult> {
    const began = performance.now();
    let done = 0;
    say(`${what.area.name}: ${what.files.length} files`);
    const result = await judgeArea({
        ...what,
        root,
        seed: Number(values.seed),
        sample: Number(values.sample),
        workers: Number(values.workers),
        onVerdict: () => {
            done += 1;
            if (done % 200 === 0) say(`  ${done} mutants, ${Math.round((performance.now() - began) / 1000)} s`);
        },
    });
    const { judged, chosen, mutants } = result;
    say(`  ${judged.length} of ${mutants} mutants in ${Math.round((performance.now() - began) / 1000)} s`);
    if (judged.length < chosen) say(`  the time was over: ${chosen - judged.length} were not judged`);
    return result;
}

function report(results: readonly AreaResult[], missing: readonly string[]): number {
    for (const result of results) {
        for (const survivor of survivorsOf(result)) say(lineOf(survivor));
    }
    say(`\n${tableOf(results)}`);
    const partial = results.filter(({ judged, mutants }) => judged.length < mutants);
    if (partial.length > 0)
        say(`\nThe score is of a sample (seed ${values.seed}) in: ${partial.map(({ area }) => area.name).join(", ")}`);
    if (missing.length > 0) say(`The time was over (--minutes ${values.minutes}) before: ${missing.join(", ")}`);
    const file = join(root, values.json);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, JSON.stringify(results, undefined, 1));
    const weak = results.filter(
        (result) => result.judged.length >= enoughMutants && scoreOf(result) < result.area.least,
    );
    for (const { area } of weak) say(`${area.name}: less than ${area.least} % of its mutants were caught`);
    return weak.length === 0 ? 0 : 1;
}

/** The tested commit, and the date. */
function revision(): string {
    const git = (...args: string[]): string => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
    const changed = git("status", "--porcelain") === "" ? "" : ", changed";
    return `${git("rev-parse", "--short", "HEAD")}${changed}, ${new Date().toISOString().slice(0, 10)}`;
}
