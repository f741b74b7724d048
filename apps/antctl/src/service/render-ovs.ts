import { oneLine, someOf, table, titled, type Style } from "../output/index.ts";
import { outcomeText } from "./outcome-text.ts";
import { type OvsReport } from "./report.ts";

/** What OVS of each Node has: where it is the same, what differs, what was not compared and what could not be read. */
export function renderOvs(reports: readonly OvsReport[], style: Style): string {
    const namesOf = (state: OvsReport["state"]): readonly string[] =>
        reports.filter((each) => each.state === state).map(({ node }) => node);
    const same = namesOf("same");
    const differing = reports.flatMap((each) =>
        each.state === "differs" ? each.differences.map((text) => `${each.node}: ${text}`) : [],
    );
    const unread = reports.flatMap((each) =>
        each.state === "unread" ? [`${each.node}: ${oneLine(each.reason)}`] : [],
    );
    return [
        ...(same.length === 0 ? [] : [style.good(`OVS has the same on ${someOf(same, 8)}.`)]),
        ...titled(style.bad("OVS differs from what is to be served"), differing, style),
        ...(differing.length === 0
            ? []
            : ["next: read the log of antrea-agent on that Node, and kubectl events for the Service"]),
        ...titled("Not compared", [...new Set(reports.flatMap(uncomparedIn))], style),
        ...titled(style.warn("What OVS has is not known"), unread, style),
    ].join("\n");
}

function uncomparedIn(report: OvsReport): readonly string[] {
    return report.state === "unread" ? [] : report.uncompared;
}

/** The section with the flows that OVS of a Node has for the Service; none if there are none or they were not read. */
export function flowTable(report: OvsReport, style: Style): readonly string[] {
    if (report.state === "unread" || report.flows.length === 0) return [];
    const rows = table(
        [
            { title: "PRIORITY", value: (flow) => String(flow.priority), align: "right" },
            { title: "MATCH", value: (flow) => flow.match },
            { title: "GROUP", value: (flow) => String(flow.group ?? "") },
            { title: "CONNECTIONS", value: (flow) => outcomeText(flow.outcome) },
        ],
        report.flows,
        style,
    );
    return [`${style.bold("Flows of table ServiceLb")}\n${rows}`];
}
