import { conditionWords } from "../pools/index.ts";
import { age, amount, bar, count, fields, list, percent, table, type Style } from "../output/index.ts";
import { type PoolReport, type PoolSummary } from "./report.ts";

/**
 * The list of `ipam show` as a table, without a final line end; one sentence if there are no pools. Usage that the
 * controller has not written is `-`.
 */
export function renderPools(pools: readonly PoolSummary[], style: Style): string {
    if (pools.length === 0) return "The cluster has no IPPools.";
    return table<PoolSummary>(
        [
            { title: "NAME", value: ({ name }) => name },
            { title: "VERSION", value: ({ ipVersion }) => `IPv${ipVersion}` },
            { title: "USAGE", value: ({ usage }) => (usage === undefined ? "-" : bar(usage, style, 12)) },
            { title: "", value: ({ usage }) => (usage === undefined ? "" : percent(usage)), align: "right" },
            { title: "TOTAL", value: ({ usage }) => amount(usage?.total), align: "right" },
            { title: "USED", value: ({ usage }) => amount(usage?.used), align: "right" },
            { title: "RESERVED", value: ({ usage }) => amount(usage?.reserved), align: "right" },
            { title: "FREE", value: ({ usage }) => amount(usage?.free), align: "right" },
            { title: "CONDITIONS", value: (pool) => conditionsText(pool, style) },
        ],
        pools,
        style,
    );
}

function conditionsText(pool: PoolSummary, style: Style): string {
    return conditionWords(pool)
        .map(({ word, good }) => (good ? style.good(word) : style.warn(word)))
        .join(",");
}

/** Maximum rows of a list in a table; `-o json` and `-o yaml` print all. */
const mostRows = 10;

/**
 * The report of `ipam show POOL` as text, without a final line end; of long lists the first 10. `nowMs`, in
 * milliseconds since 1970, is for ages.
 */
export function renderPool(report: PoolReport, style: Style, nowMs: number): string {
    const { usage } = report;
    const sections = [
        fields(
            [
                ["Name", report.name],
                ["Version", `IPv${report.ipVersion}`],
                ["Age", age(report.created, nowMs)],
                ["Usage", `${bar(usage, style, 40)} ${percent(usage)}`],
                [
                    "Addresses",
                    `${amount(usage.total)} in total: ${usage.used} used, ${usage.reserved} reserved, ` +
                        `${amount(usage.free)} free`,
                ],
                ...(report.withheld === ""
                    ? []
                    : [["Never given", `${report.withheld} (the cluster uses them)`] as const]),
                ...(report.outside === 0
                    ? []
                    : [
                          [
                              "Outside",
                              `${count(report.outside, "allocation")} of addresses that the pool does not hand out (any more)`,
                          ] as const,
                      ]),
                ...conditionFields(report, style),
            ],
            style,
        ),
        problems(report, style),
        rangesTable(report, style),
        usersTable(report, style),
        reservationsTable(report, style, nowMs),
    ];
    return sections.filter((section) => section !== "").join("\n\n");
}

function conditionFields(report: PoolReport, style: Style): readonly (readonly [string, string])[] {
    if (report.conditions.length === 0) {
        return [["Conditions", style.warn("none: antrea-controller has not checked this pool yet")]];
    }
    return report.conditions.map(({ type, status, message }) => {
        const good = (type === "Ready") === (status === "True");
        return [type, `${good ? style.good(status) : style.bad(status)}${message === "" ? "" : ` (${message})`}`];
    });
}

function problems(report: PoolReport, style: Style): string {
    return report.problems.length === 0 ? "" : `${style.bold("Problems")}\n${list(report.problems, style)}`;
}

function rangesTable(report: PoolReport, style: Style): string {
    const rows = table(
        [
            { title: "RANGE", value: (range) => range.addresses },
            { title: "SUBNET", value: (range) => range.subnet },
            { title: "GATEWAY", value: (range) => range.gateway },
            { title: "VLAN", value: (range) => (range.vlan === 0 ? "untagged" : String(range.vlan)) },
            { title: "TOTAL", value: (range) => amount(range.total), align: "right" },
            { title: "USED", value: (range) => String(range.used), align: "right" },
            { title: "RESERVED", value: (range) => String(range.reserved), align: "right" },
        ],
        report.ranges,
        style,
    );
    return report.ranges.length === 0 ? "" : `${style.bold("Ranges")}\n${rows}`;
}

function usersTable(report: PoolReport, style: Style): string {
    if (report.users.length === 0) return "";
    const rows = table(
        [
            { title: "NAMESPACE", value: (user) => user.namespace },
            { title: "OWNER", value: (user) => user.owner },
            { title: "USED", value: (user) => String(user.used), align: "right" },
            { title: "RESERVED", value: (user) => String(user.reserved), align: "right" },
        ],
        report.users.slice(0, mostRows),
        style,
    );
    return `${style.bold("Biggest users")}\n${rows}${more(report.users.length, "owner")}`;
}

function reservationsTable(report: PoolReport, style: Style, nowMs: number): string {
    if (report.reservations.length === 0) return "";
    const rows = table(
        [
            { title: "ADDRESS", value: (each) => each.address },
            { title: "KEPT FOR", value: (each) => each.owner },
            { title: "AGE", value: (each) => age(each.since, nowMs) },
        ],
        report.reservations.slice(0, mostRows),
        style,
    );
    return `${style.bold("Reservations")}\n${rows}${more(report.reservations.length, "reservation")}`;
}

function more(total: number, one: string): string {
    return total > mostRows ? `\nand ${count(total - mostRows, `more ${one}`)} (-o json shows all)` : "";
}
