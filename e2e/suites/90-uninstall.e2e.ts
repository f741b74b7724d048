import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { allNodes, kubectl, nodeObjects, shellOnNode, systemNamespace } from "../fixture/cluster.ts";
import { eventually, run } from "../fixture/run.ts";
import { rolledOut } from "../fixture/workloads.ts";

/** What is on a Node that could be of Antrea, as the tools of the system show it. */
const leftovers = `
ls -d /etc/cni/net.d/*antrea* /opt/cni/bin/antrea /opt/cni/bin/portmap /var/lib/antrea /var/run/antrea 2>/dev/null
ip -o link show group 178
ip -o link | grep -E ' (br-int|antrea-gw0|ovs-netdev|ovs-system)'
for proto in 178 179 180; do ip route show table all proto $proto; ip -6 route show table all proto $proto; done
nft list tables 2>/dev/null | grep antrea
for tables in iptables-nft iptables-legacy ip6tables-nft ip6tables-legacy; do $tables -S 2>/dev/null | grep '"antrea: '; done
true`;

const conflistsOn = (node: string): Promise<string> =>
    shellOnNode(node, "ls /etc/cni/net.d").then((names) => names.trim());

describe("uninstalling", () => {
    it("takes the CNI configuration off every Node, and the clean-up all the rest", async () => {
        for (const node of allNodes) expect(await conflistsOn(node)).toBe("10-antrea.conflist");
        const image = await kubectl([
            "-n",
            systemNamespace,
            "get",
            "daemonset",
            "antrea-agent",
            "-o",
            "jsonpath={.spec.template.spec.containers[0].image}",
        ]);
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
        for (const node of allNodes) expect(await shellOnNode(node, leftovers)).toContain("antrea-gw0");
        const text = await readFile(join(import.meta.dirname, "../../docs/clean-up.yaml"), "utf8");
        const manifest = text.replaceAll(/image: .*/g, `image: ${image}`);
        try {
            await kubectl(["apply", "-f", "-"], { input: manifest });
            await kubectl(["-n", systemNamespace, "rollout", "status", "daemonset/antrea-clean-up", "--timeout=120s"], {
                timeoutMs: 130_000,
            });
            for (const node of allNodes) expect([node, await shellOnNode(node, leftovers)]).toEqual([node, ""]);
        } finally {
            await kubectl(["delete", "-f", "-", "--wait"], { input: manifest, timeoutMs: 60_000 });
        }
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
        // the clean-up has taken the interfaces of Pods that went on running
        await kubectl(["-n", systemNamespace, "rollout", "restart", "deployment/coredns"]);
        await rolledOut(systemNamespace, "deployment/coredns");
    });
});
