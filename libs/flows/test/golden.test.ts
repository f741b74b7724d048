import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "@jest/globals";
import { formatFlow, type Flow } from "@antrea/openflow";
import { type Family } from "@antrea/ip";
import { pipelineFlows, podFlows, tableName, tunnelPeerFlows } from "../src/index.ts";
import { examplePeer, examplePod, exampleTunnelNode } from "./examples.ts";

function section(title: string, flows: readonly Flow[]): string {
    const order = (flow: Flow): number => flow.table * 65536 - flow.priority;
    const sorted = flows.toSorted((a, b) => order(a) - order(b));
    const lines = sorted.map((flow, at) => {
        const heading = flow.table === sorted[at - 1]?.table ? "" : `# ${tableName(flow.table)}\n`;
        return `${heading}${formatFlow(flow)}\n`;
    });
    return `## ${title}\n\n${lines.join("")}`;
}

const remotes: Readonly<Record<string, string>> = { v6: "2001:db8::11" };

// UPDATE_GOLDEN=1 writes the files anew: read the difference before it is committed.
describe("the flows as ovs-ofctl shows them", () => {
    it.each<[string, readonly Family[]]>([
        ["v4", [4]],
        ["v6", [6]],
        ["dual", [4, 6]],
    ])("%s", (name, families) => {
        const text = [
            section("pipelineFlows", pipelineFlows(exampleTunnelNode(families)).flows),
            section("podFlows", podFlows(examplePod(1, families)).flows),
            section("tunnelPeerFlows", tunnelPeerFlows(examplePeer(families, remotes[name])).flows),
        ].join("\n");
        const path = fileURLToPath(new URL(`golden/${name}.txt`, import.meta.url));
        if (process.env["UPDATE_GOLDEN"] === "1") writeFileSync(path, text);
        expect(text).toBe(readFileSync(path, "utf8"));
    });
});
