import { age, fields, list, oneLine, table, type Style } from "../output/index.ts";
import { renderNetworks } from "./render-networks.ts";
import { type ExplainReport } from "./report.ts";

/**
 * The report of `ipam explain pod` as text, without a final line end. `nowMs`, in milliseconds since 1970, is for ages.
 */
export function renderExplain(report: ExplainReport, style: Style, nowMs: number): string {
    const { pod, annotations } = report;
    const sections = [
        fields(
            [
                ["Pod", `${pod.namespace}/${pod.name}`],
                ["Phase", pod.phase],
                ["Node", pod.node ?? "none yet"],
                ["Pod IPs", pod.ips.join(", ") || "none"],
                ...(annotations.pools === undefined
                    ? []
                    : [
                          [
                              "Pools",
                              `${oneLine(annotations.pools) || '""'} (annotation of the ${annotations.from})`,
                          ] as const,
                      ]),
                ...(annotations.podIps === undefined ? [] : [["Fixed", oneLine(annotations.podIps) || '""'] as const]),
            ],
            style,
        ),
        fields([["Why", report.why]], style),
    ];
    if (report.pools.length > 0) {
        const columns = [
            { title: "TRIED", value: (row: (typeof rows)[number]) => String(row.at) },
            { title: "POOL", value: (row: (typeof rows)[number]) => oneLine(row.pool) },
            {
                title: "VERSION",
                value: (row: (typeof rows)[number]) => (row.ipVersion === undefined ? "" : `IPv${row.ipVersion}`),
            },
            { title: "OUTCOME", value: (row: (typeof rows)[number]) => row.text },
        ];
        const rows = report.pools.map((trial, at) => ({ ...trial, at: at + 1 }));
        sections.push(table(columns, rows, style));
    }
    sections.push(...renderNetworks(report.networks, style));
    const has = [
        ...report.has,
        ...report.networks.requested.flatMap((network) => network.has),
        ...report.networks.others,
    ];
    if (has.length > 0) {
        const columns = [
            { title: "HAS", value: (row: ExplainReport["has"][number]) => row.address },
            { title: "FROM POOL", value: (row: ExplainReport["has"][number]) => row.pool },
            { title: "INTERFACE", value: (row: ExplainReport["has"][number]) => row.interface },
            { title: "AGE", value: (row: ExplainReport["has"][number]) => age(row.since, nowMs) },
        ];
        sections.push(table(columns, has, style));
    }
    sections.push(blocks(report, style));
    if (report.events.length > 0) {
        const columns = [
            { title: "LAST SEEN", value: (row: ExplainReport["events"][number]) => seen(row, nowMs) },
            { title: "TYPE", value: (row: ExplainReport["events"][number]) => row.type },
            { title: "REASON", value: (row: ExplainReport["events"][number]) => row.reason },
            { title: "ABOUT", value: (row: ExplainReport["events"][number]) => row.about },
            { title: "MESSAGE", value: (row: ExplainReport["events"][number]) => oneLine(row.note) },
        ];
        sections.push(`${style.bold("Events")}\n${table(columns, report.events, style)}`);
    }
    return sections.join("\n\n");
}

function blocks({ verdict, blocks: all }: ExplainReport, style: Style): string {
    if (all.length === 0) return style.good(verdict);
    const texts = all.map(({ what, next }) => `${oneLine(what)}\nnext: ${oneLine(next)}`);
    return `${style.bad(verdict)}\n${list(texts, style)}`;
}

/** Age and count in kubectl's format: `2m (x5)`. */
function seen({ time, count }: ExplainReport["events"][number], nowMs: number): string {
    return count > 1 ? `${age(time, nowMs)} (x${count})` : age(time, nowMs);
}
