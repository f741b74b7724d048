import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { parseArgs } from "node:util";
import ts from "typescript";
import { docstringsOf, draw } from "./docstrings.ts";
import { featureCrossings, importCircles, importGraph, unusedExports } from "./imports.ts";
import { membersOnlyTestsUse } from "./members.ts";
import { isProduct, readPackages, readSources, type Source } from "./sources.ts";
import { needlessConditionalSpreads, spreadGroups } from "./spreads.ts";
import { countTerms } from "./words.ts";

const usage = `main.ts [OPTION...]    measures how the repository is built and prints a table (CONTRIBUTING.md)
  --list            names each place that is counted
  --docstrings N    prints N exported docstrings instead, drawn by --seed
  --seed N          default 1`;

const { values } = parseArgs({
    options: {
        list: { type: "boolean", default: false },
        docstrings: { type: "string" },
        seed: { type: "string", default: "1" },
        help: { type: "boolean", default: false },
    },
});
const root = dirname(dirname(import.meta.dirname));

interface Measure {
    readonly what: string;
    readonly figure: string;
    readonly goal: string;
    readonly places: readonly string[];
}

function lines(sources: readonly Source[]): string {
    const sorted = sources.map(({ text }) => text.split("\n").length - 1).sort((one, other) => one - other);
    const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
    return `${at(0.5)} / ${at(0.9)} / ${at(1)}`;
}

function needlessSpreads(paths: readonly string[]): string[] {
    const { config } = ts.readConfigFile(join(root, "tsconfig.base.json"), (file) => readFileSync(file, "utf8")) as {
        readonly config: { readonly compilerOptions: object };
    };
    const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root);
    const program = ts.createProgram(
        paths.map((path) => join(root, path)),
        options,
    );
    const counted = new Set(program.getRootFileNames());
    return needlessConditionalSpreads(program, (path) => counted.has(path)).map((place) => relative(root, place));
}

/** Tables that tests or programs write are excluded from the check of wording. */
function wordedFiles(): string[] {
    const files = execFileSync(
        "git",
        ["ls-files", "apps", "libs", "tools", "e2e", "charts", "docs", "README.md", "CONTRIBUTING.md", "Makefile"],
        {
            cwd: root,
            encoding: "utf8",
        },
    );
    return files
        .split("\n")
        .filter((file) =>
            /(\.(ts|mjs|md|yaml|tpl|txt|sh|conf)|Makefile)$|\/values\.schema\.json$|^apps\/[^/]+\/image\/[^.]+$/.test(
                file,
            ),
        )
        .filter((file) => !/\/golden\/|^docs\/benchmarks\/|^tools\/(fuzz\/corpus|measure-house)\//.test(file));
}

function measures(): Measure[] {
    const sources = readSources(root);
    const packages = readPackages(root);
    const product = [...sources.values()].filter(({ path }) => isProduct(path));
    const graph = importGraph(sources, packages);
    const circles = importCircles(graph);
    const crossings = featureCrossings(graph);
    const top = readdirSync(join(root, "apps/agent/src"));
    const groups = [...sources.values()].flatMap(spreadGroups);
    const needless = needlessSpreads(product.map(({ path }) => path));
    const { unnamed, onlyTests } = unusedExports(sources, packages);
    const members = membersOnlyTestsUse(sources.values());
    const worded = wordedFiles().flatMap((file) =>
        countTerms(readFileSync(join(root, file), "utf8"), file)
            .filter(({ count }) => count > 0)
            .map(({ term, count }) => ({ file, instead: term.instead, count })),
    );
    const long = product.filter(({ text }) => text.split("\n").length > 401).map(({ path }) => path);
    return [
        { what: "entries at the top of apps/agent/src", figure: String(top.length), goal: "≤ 5", places: top },
        {
            what: "import circles; feature-to-feature imports",
            figure: `${circles.length}; ${crossings.length}`,
            goal: "0; 0",
            places: [...circles.map((circle) => circle.join(" <-> ")), ...crossings],
        },
        {
            what: "lines a source file, median / p90 / longest",
            figure: lines(product),
            goal: "≤ 70 / ≤ 180 / ≤ 400",
            places: long,
        },
        {
            what: "spread groups; needless conditional spreads",
            figure: `${groups.length}; ${needless.length}`,
            goal: "0; 0",
            places: [...groups, ...needless],
        },
        {
            what: "exports that no other file names; exports, members of classes that only tests use",
            figure: `${unnamed.length}; ${onlyTests.length}, ${members.length}`,
            goal: "0; 0, 0",
            places: [...unnamed, ...onlyTests, ...members],
        },
        {
            what: "wording that the project does not use",
            figure: String(worded.reduce((sum, { count }) => sum + count, 0)),
            goal: "0",
            places: worded.map(({ file, instead, count }) => `${file}: ${count} times, better "${instead}"`),
        },
    ];
}

function print(text: string): void {
    process.stdout.write(`${text}\n`);
}

if (values.help) {
    print(usage);
} else if (values.docstrings !== undefined) {
    const all = [...readSources(root).values()].flatMap(docstringsOf);
    for (const { place, text, declaration } of draw(all, Number(values.docstrings), Number(values.seed)))
        print(`${place}\n${text}\n${declaration}\n`);
} else {
    const rows = measures();
    print("| what | now | goal |\n| --- | --- | --- |");
    for (const { what, figure, goal } of rows) print(`| ${what} | ${figure} | ${goal} |`);
    if (values.list)
        for (const { what, places } of rows) print(`\n${what}:\n${places.map((one) => `  ${one}`).join("\n")}`);
}
