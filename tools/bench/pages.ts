import { type Drawn } from "./charts/charts.ts";
import { groups, methods } from "./methods.ts";
import { type Result } from "./result.ts";

/** The benchmark of a result: the first word of its id. */
export function groupOf(id: string): string {
    return id.replace(/-.*$/, "");
}

/** Lines of a Markdown table, padded to the widest cell of each column. */
function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
    const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
    const line = (cells: readonly string[]): string =>
        `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
    return [line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)];
}

function cells({ value, unit, against, ratio, pairRatio, goal, holds }: Result): string[] {
    return [
        `${value} ${unit}`,
        against === null ? "" : `${against.value} ${unit}`,
        ratio === null ? "" : `${ratio}×`,
        pairRatio === undefined ? "" : `${pairRatio}×`,
        goal ?? "",
        holds === null ? "" : holds ? "yes" : "**no**",
    ];
}

/** A longer text, in characters, is truncated in its table and printed below it. */
const longest = 80;

function short(text: string): string {
    return text.length <= longest ? text : `${text.slice(0, longest).replace(/[ ,;:(]*[^ ]*$/, "")} …`;
}

/** The results as a Markdown table. */
export function table(results: readonly Result[]): string {
    const rows = results.map((result) => [`\`${result.id}\``, short(result.what), ...cells(result)]);
    return markdownTable(["id", "measured", "value", "baseline", "ratio", "by pairs", "goal", "met"], rows).join("\n");
}

function headingOf(group: string): string {
    return groups[group]?.title ?? group;
}

function anchorOf(group: string): string {
    return headingOf(group)
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}_\- ]/gu, "")
        .replaceAll(" ", "-");
}

function goalsOf(results: readonly Result[]): string {
    const judged = results.filter(({ holds }) => holds !== null);
    return judged.length === 0 ? "" : `${judged.filter(({ holds }) => holds === true).length} of ${judged.length}`;
}

/** docs/benchmarks/README.md: one line per benchmark, and the charts. */
export function overviewPage(results: readonly Result[], machine: readonly string[], charts: readonly Drawn[]): string {
    const byGroup = Map.groupBy(results, ({ id }) => groupOf(id));
    const rows = [...byGroup].flatMap(([group, of]) => {
        const key = of.find(({ id }) => id === groups[group]?.key);
        if (key === undefined) return [];
        const [value = "", baseline = "", ratio = ""] = cells(key);
        const link = `[${headingOf(group)}](details.md#${anchorOf(group)})`;
        return [[link, short(key.what), value, baseline, ratio, key.goal ?? "", goalsOf(of)]];
    });
    const date = machine.find((line) => line.startsWith("- Date: "))?.slice("- Date: ".length) ?? "";
    const later = machine.some((line) => line.includes("in a run of their own"));
    const apart = later ? " (some [in later runs](details.md#machine))" : "";
    const missed = [...byGroup].flatMap(([group, of]) => {
        const count = of.filter(({ holds }) => holds === false).length;
        return count === 0 ? [] : [`[${headingOf(group)}](details.md#${anchorOf(group)}) (${count})`];
    });
    return [
        "# Benchmarks",
        "",
        `Measured by \`make bench\`${date === "" ? "" : ` on ${date}${apart}`}, which writes this page, [details.md](details.md)`,
        "(all results, methods, machine) and [latest.json](latest.json); do not edit them. Compare ratios, not milliseconds:",
        "they do not depend on the machine.",
        "",
        ...markdownTable(
            ["benchmark", "key result", "value", "baseline", "ratio", "goal", "goals met, all results"],
            rows,
        ),
        "",
        ...(missed.length === 0
            ? []
            : ["## Missed goals", "", `Each with its reason and the next idea: ${missed.join(", ")}.`, ""]),
        ...(charts.length === 0
            ? []
            : ["## Charts", "", ...charts.flatMap(({ file, alt }) => [`![${alt}](${file})`, ""])]),
    ].join("\n");
}

/** docs/benchmarks/details.md: method, results and reasons of each benchmark, and the machine. */
export function detailsPage(results: readonly Result[], machine: readonly string[]): string {
    const byGroup = Map.groupBy(results, ({ id }) => groupOf(id));
    return [
        "# Benchmarks in detail",
        "",
        "Written by `make bench`; do not edit it. [README.md](README.md) has the overview and the charts.",
        "",
        ...introduction.flatMap((text) => [text, ""]),
        "## Machine",
        "",
        ...machine,
        "",
        ...[...byGroup].flatMap(([group, of]) => section(group, of)),
    ].join("\n");
}

function section(group: string, results: readonly Result[]): readonly string[] {
    const baselines = [...new Set(results.flatMap(({ against }) => (against === null ? [] : [against.what])))];
    const long = results.filter(({ what }) => what.length > longest).map(({ id, what }) => `- \`${id}\`: ${what}`);
    const missed = results.filter(({ holds }) => holds === false);
    const reasons = [...Map.groupBy(missed, ({ reason = "", next = "" }) => `${reason} Next: ${next}`)];
    return [
        `## ${headingOf(group)}`,
        "",
        ...(methods[group] ?? []).flatMap((text) => [text, ""]),
        table(results),
        "",
        ...(baselines.length === 0 ? [] : [`Baselines: ${baselines.join("; ")}.`, ""]),
        ...(long.length === 0 ? [] : ["In full:", "", ...long, ""]),
        ...(reasons.length === 0
            ? []
            : [
                  "Missed goals:",
                  "",
                  ...reasons.map(([text, of]) => `- ${of.map(({ id }) => `\`${id}\``).join(", ")}: ${text}`),
                  "",
              ]),
    ];
}

const introduction = [
    `Where there is a baseline, both sides are measured in one run in alternation, and the side that goes first changes from pair to pair, so that a machine whose speed drifts affects both. "ratio" is the value divided by the baseline, at the same quantile of each; "by pairs" is the median of the ratios of the pairs, which is stable on an unstable machine. A missed goal stays in the table with its reason; baseline and load are not changed to meet it. In latest.json \`against\`, \`ratio\`, \`goal\` and \`holds\` are null where there is no baseline or no goal.`,
    `Everything runs in fresh network, mount and process namespaces: a real etcd (without fsync) and kube-apiserver, ovsdb-server and ovs-vswitchd with the userspace datapath, the bundled agent and controller with Node.js, dual stack, and noEncap unless stated otherwise. Between calls the run waits until ovs-vswitchd and the kernel have finished earlier work. Run it on an idle machine: real-time scheduling would keep other work away, but also starve the kernel threads, which the baselines depend on more.`,
];
