import type { Row } from "@antrea/testing-page";
import type { AreaResult, JudgedMutant, Verdict } from "./judge.ts";

/** The percentage of killed mutants among the tested ones. */
export function scoreOf({ judged }: AreaResult): number {
    return (100 * (count(judged, "killed") + count(judged, "time"))) / judged.length;
}

/** The mutants that no test killed, by file and line. */
export const survivorsOf = ({ judged }: AreaResult): readonly JudgedMutant[] =>
    judged
        .filter(({ verdict }) => verdict === "survived" || verdict === "unseen")
        .toSorted((a, b) => a.file.localeCompare(b.file) || a.line - b.line);

/** Column titles of the table. */
export const head: Row = ["Area", "Mutants", "Judged", "Killed", "Time", "Survived", "Unseen", "Score", "Commit, date"];

/** One row per area. */
export function rowsOf(results: readonly AreaResult[], revision: string): readonly Row[] {
    return results.map((result) => [
        result.area.name,
        String(result.mutants),
        String(result.judged.length),
        ...(["killed", "time", "survived", "unseen"] as const).map((verdict) => String(count(result.judged, verdict))),
        result.judged.length === 0 ? "-" : `${scoreOf(result).toFixed(1)} %`,
        revision,
    ]);
}

/** The same for a terminal. */
export function tableOf(results: readonly AreaResult[]): string {
    const rows = [head, ...rowsOf(results, "")].map((row) => row.slice(0, -1));
    const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
    return rows
        .map((row) => row.map((cell, at) => (at === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[at] ?? 0))))
        .map((row) => `| ${row.join(" | ")} |`)
        .join("\n");
}

/** One line that describes a mutant and its verdict. */
export function lineOf({ file, line, mutator, original, replacement, verdict }: JudgedMutant): string {
    const short = (code: string): string => {
        const flat = code.replaceAll(/\s+/g, " ");
        return flat.length > 90 ? `${flat.slice(0, 87)}...` : flat;
    };
    return `${file}:${line} ${mutator}${verdict === "unseen" ? ", no test runs through it" : ""}\n    ${short(original)}\n    → ${short(replacement)}`;
}

function count(judged: readonly JudgedMutant[], verdict: Verdict): number {
    return judged.filter((mutant) => mutant.verdict === verdict).length;
}
