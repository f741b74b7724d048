import { describe, expect, it } from "@jest/globals";
import { allNodes, kubectl, nodeObjects, shellOnNode, systemNamespace } from "../fixture/cluster.ts";
import { eventually, run } from "../fixture/run.ts";

const conflistsOn = (node: string): Promise<string> =>
    shellOnNode(node, "ls /etc/cni/net.d").then((names) => names.trim());

describe("uninstalling", () => {
    it("takes the CNI configuration off every Node, so that no Pod is started without a network", async () => {
        for (const node of allNodes) expect(await conflistsOn(node)).toBe("10-antrea.conflist");
        const values = await run("helm", ["get", "values", "antrea", "--namespace", systemNamespace, "-o", "json"]);
        await run("helm", ["uninstall", "antrea", "--namespace", systemNamespace, "--wait"], { timeoutMs: 180_000 });
        await eventually("every agent is gone and its file with it", async () => {
            const files = await Promise.all(allNodes.map(conflistsOn));
            return files.every((names) => names === "") ? true : undefined;
        });
        await eventually("the Nodes say that they have no network", async () => {
            const ready = (await nodeObjects()).map(
                (node) => node.status.conditions.find(({ type }) => type === "Ready")?.status,
            );
            return ready.every((status) => status === "False") ? true : undefined;
        });
        await run(
            "helm",
            [
                "install",
                "antrea",
                process.env["E2E_CHART"] ?? "charts/antrea",
                "--namespace",
                systemNamespace,
                "--values",
                "-",
                "--wait",
            ],
            { input: values, timeoutMs: 200_000 },
        );
        await kubectl(["wait", "--for=condition=Ready", "nodes", "--all", "--timeout=120s"], { timeoutMs: 130_000 });
    });
});
