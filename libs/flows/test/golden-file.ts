import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect } from "@jest/globals";
import { formatActions, formatFlow, type Flow, type Group, type GroupBucket } from "@antrea/openflow";
import { Table } from "../src/index.ts";

const tableNames: ReadonlyMap<number, string> = new Map(Object.entries(Table).map(([name, number]) => [number, name]));

/** Flows in the order of their tables, as ovs-ofctl shows them. */
export function section(title: string, flows: readonly Flow[]): string {
    const order = (flow: Flow): number => flow.table * 65536 - flow.priority;
    const sorted = flows.toSorted((a, b) => order(a) - order(b));
    const lines = sorted.map((flow, at) => {
        const heading = flow.table === sorted[at - 1]?.table ? "" : `# ${tableNames.get(flow.table)}\n`;
        return `${heading}${formatFlow(flow)}\n`;
    });
    return `## ${title}\n\n${lines.join("")}`;
}

/** Groups as ovs-ofctl shows them. */
export function groupSection(title: string, groups: readonly Group[]): string {
    const lines = groups.map(({ id, buckets, selection }) => {
        const fields =
            selection?.method === "hash" ? [`fields=${selection.fields?.map(({ field }) => field).join()}`] : [];
        const method = selection === undefined ? [] : [`selection_method=${selection.method}`, ...fields];
        const param = selection?.param === undefined ? [] : [`selection_method_param=${selection.param}`];
        const head = [`group_id=${id}`, "type=select", ...method, ...param].join(",");
        return `${head}\n${buckets.map(formatBucket).join("")}`;
    });
    return `## ${title}\n\n${lines.join("")}`;
}

function formatBucket({ id, weight, watchPort, actions }: GroupBucket): string {
    const more = [
        ...(weight === undefined || weight === 1 ? [] : [`weight:${weight}`]),
        ...(watchPort === undefined ? [] : [`watch_port:${watchPort}`]),
    ];
    return `    ${[`bucket=bucket_id:${id}`, ...more, `actions=${formatActions(actions)}`].join(",")}\n`;
}

/** Compares with a golden file; UPDATE_GOLDEN=1 writes it anew. */
export function expectGolden(name: string, text: string): void {
    const path = fileURLToPath(new URL(`golden/${name}.txt`, import.meta.url));
    if (process.env["UPDATE_GOLDEN"] === "1") writeFileSync(path, text);
    expect(text).toBe(readFileSync(path, "utf8"));
}
