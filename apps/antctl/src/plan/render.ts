import { refusalText, type Refusal } from "@antrea/ipam";
import { amount, bar, fields, list, percent, someOf, table, type Style } from "../output/index.ts";
import { type IpPoolUsage } from "@antrea/crd";
import { type PlanReport, type PoolPlan } from "./report.ts";

/** The report of `ipam plan` as text, without a final line end. Long lists are cut. */
export function renderPlan(report: PlanReport, style: Style): string {
    const sections = report.pools.map((plan) => renderPool(plan, style));
    if (report.ignored.length > 0) sections.push(`Not checked, because they are no IPPools: ${someOf(report.ignored)}`);
    const refused = report.pools.filter((plan) => plan.refused).map(({ name }) => name || "(no name)");
    const unjudged = report.pools.filter(({ server }) => server.answer === "none").map(({ name }) => name);
    if (unjudged.length > 0) {
        sections.push(
            style.warn(
                `The API server did not judge ${someOf(unjudged, 10)}: the rules above are those of antctl alone.`,
            ),
        );
    }
    if (refused.length > 0) sections.push(style.bad(`Refused: ${someOf(refused, 10)}`));
    else if (unjudged.length === 0) sections.push(style.good("Nothing is refused."));
    return sections.join("\n\n");
}

const actions = { create: "would be created", change: "would be changed", none: "has this spec already" } as const;
const mostRows = 20;

function renderPool(plan: PoolPlan, style: Style): string {
    const head = plan.refused ? style.bad("refused") : style.good(actions[plan.action]);
    const lines = [`${style.bold(`IPPool ${plan.name || "(no name)"}`)}: ${head}`];
    if (plan.errors.length > 0)
        lines.push("Refused by the rules of Antrea:", list(plan.errors.map(refusalText), style));
    if (plan.server.answer === "refused" && plan.errors.length === 0) {
        lines.push("Refused by the API server:", list([plan.server.message], style));
    }
    if (plan.warnings.length > 0) lines.push("Warnings:", list(plan.warnings, style));
    lines.push(
        fields([...serverField(plan), ...addressFields(plan), ...usageFields(plan, style), ...userFields(plan)], style),
    );
    if (plan.fallOut.length > 0) {
        const columns = [
            { title: "ADDRESS", value: (row: PoolPlan["fallOut"][number]) => row.address },
            { title: "STATE", value: (row: PoolPlan["fallOut"][number]) => row.state },
            { title: "HELD BY", value: (row: PoolPlan["fallOut"][number]) => row.holder },
        ];
        lines.push("Allocations outside its new ranges:", table(columns, plan.fallOut.slice(0, mostRows), style));
        const rest = plan.fallOut.length - mostRows;
        if (rest > 0) lines.push(`and ${rest} more (-o json shows all)`);
    }
    return lines.join("\n");
}

type Field = readonly [name: string, value: string];

function serverField({ server, errors }: PoolPlan): readonly Field[] {
    switch (server.answer) {
        case "accepted":
            return errors.length === 0
                ? [["API server", "would accept it (dry run)"]]
                : [["API server", "would accept it (dry run): antrea-webhook does not watch over IPPools here"]];
        case "refused":
            return errors.length === 0
                ? []
                : [["API server", `refuses it too (dry run)${ownWords(server.message, errors)}`]];
        case "none":
            return [["API server", `did not judge it: ${server.message}`]];
    }
}

/** The parts of the API server's message that the errors above do not contain. */
function ownWords(message: string, errors: readonly Refusal[]): string {
    return errors.every((error) => message.includes(refusalText(error))) ? "" : `: ${message}`;
}

function addressFields(plan: PoolPlan): readonly Field[] {
    const fieldsOf: Field[] = [];
    if (plan.added !== "") fieldsOf.push([plan.action === "create" ? "Hands out" : "Gains", plan.added]);
    if (plan.removed !== "") fieldsOf.push(["Loses", plan.removed]);
    for (const { pool, addresses } of plan.overlaps) fieldsOf.push(["Overlap", `${addresses}, also of IPPool ${pool}`]);
    return fieldsOf;
}

function usageFields({ usage }: PoolPlan, style: Style): readonly Field[] {
    return [
        ...(usage.before === undefined ? [] : [["Usage now", usageText(usage.before, style)] as const]),
        ...(usage.after === undefined ? [] : [["Usage then", usageText(usage.after, style)] as const]),
    ];
}

function usageText(usage: IpPoolUsage, style: Style): string {
    const { total, used, reserved, free } = usage;
    const numbers = `${used} used, ${reserved} reserved, ${amount(free)} free of ${amount(total)}`;
    return `${bar(usage, style)} ${percent(usage)}: ${numbers}`;
}

function userFields({ namedBy }: PoolPlan): readonly Field[] {
    const named = [
        ["Namespaces", namedBy.namespaces],
        ["Deployments", namedBy.deployments],
        ["StatefulSets", namedBy.statefulSets],
        ["DaemonSets", namedBy.daemonSets],
        ["CronJobs", namedBy.cronJobs],
        ["Pods", namedBy.pods],
        ["NetworkAttachmentDefinitions", namedBy.networks ?? []],
    ] as const;
    const texts = named.filter(([, names]) => names.length > 0).map(([kind, names]) => `${kind} ${someOf(names)}`);
    return texts.length === 0 ? [["Named by", "nobody"]] : [["Named by", texts.join("; ")]];
}
