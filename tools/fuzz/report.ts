import { type CampaignResult } from "./engine/campaign.ts";

/** The results as a text table. */
export function tableOf(results: readonly CampaignResult[]): string {
    const head = [
        "target",
        "executions",
        "a second",
        "branches",
        "of",
        "features",
        "corpus",
        "kept",
        "slowest ms",
        "found",
    ];
    const rows = results.map(({ target, statistics, milliseconds, findings, cover }) => [
        target,
        String(statistics.executions),
        String(Math.round((statistics.executions * 1000) / Math.max(milliseconds, 1))),
        String(statistics.edges),
        String(statistics.probes),
        String(statistics.features),
        String(statistics.corpus),
        cover === undefined ? "-" : `${cover.length} (${cover.reduce((sum, input) => sum + input.length, 0)} B)`,
        statistics.slowestMs.toFixed(0),
        String(findings.length),
    ]);
    const all = [head, ...rows];
    const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
    return all
        .map((row) =>
            row
                .map((cell, column) =>
                    column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
                )
                .join("  "),
        )
        .join("\n");
}
