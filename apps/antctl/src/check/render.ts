import { count, list, table, type Style } from "../output/index.ts";
import { type FindingKind } from "./finding.ts";
import { type CheckReport } from "./report.ts";

const titles: Readonly<Record<FindingKind, string>> = {
    duplicate: "Duplicates: one address, two users",
    leak: "Leaks: held, and no Pod uses them",
    orphan: "Orphans: used or allocated in conflict with pools and allocations",
    reservation: "Unneeded reservations",
};

/** The report of `ipam check` as text, one table per kind of finding; without a final line end. */
export function renderCheck(report: CheckReport, style: Style): string {
    const { findings, unread, looked } = report;
    const sections = (Object.keys(titles) as FindingKind[]).flatMap((kind) => {
        const rows = findings.filter((each) => each.kind === kind);
        if (rows.length === 0) return [];
        const columns = [
            { title: "ADDRESS", value: (row: (typeof rows)[number]) => row.address },
            { title: "POOL", value: (row: (typeof rows)[number]) => row.pool ?? "" },
            { title: "NODE", value: (row: (typeof rows)[number]) => row.node ?? "" },
            { title: "WHAT", value: (row: (typeof rows)[number]) => row.text },
        ];
        return [`${style.bold(style.bad(titles[kind]))}\n${table(columns, rows, style)}`];
    });
    if (unread.length > 0) {
        const nodes = unread.map(({ node, reason }) => `${node}: ${reason}`);
        sections.push(`${style.bold(style.warn("Nodes whose OVS could not be read"))}\n${list(nodes, style)}`);
    }
    const seen =
        `Checked ${count(looked.claims, "allocation")}, ${count(looked.pods, "Pod")} and ` +
        `${count(looked.records, "port")} on ${count(looked.nodes, "Node")}`;
    const found = findings.length === 0 ? style.good("nothing is wrong") : style.bad(count(findings.length, "finding"));
    const where = unread.length === 0 ? "" : ` (${count(unread.length, "Node")} not readable)`;
    return [...sections, `${seen}: ${found}${where}.`].join("\n\n");
}
