import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { inPrefix } from "../fixture/addresses.ts";
import {
    allNodes,
    apply,
    helmUpgrade,
    kubectl,
    nodeObjects,
    shellOnNode,
    systemNamespace,
    systemPod,
    waitForAgents,
    workers,
} from "../fixture/cluster.ts";
import { configFiles, writeFiles } from "../fixture/configuration.ts";
import { allocationsOf, poolManifest, poolsKey } from "../fixture/ipam.ts";
import { TestNamespace } from "../fixture/pods.ts";
import { eventually, run } from "../fixture/run.ts";
import { rolledOut } from "../fixture/workloads.ts";

const root = new URL("../../", import.meta.url).pathname;
const inSystem = ["--namespace", systemNamespace];
const programs = ["daemonset/antrea-agent", "deployment/antrea-controller", "deployment/antrea-webhook"];
/** Restarts all agents at once, instead of one by one. */
const atOnce = "agent.updateStrategy.rollingUpdate.maxUnavailable=100%";

/** All state on a Node that could be Antrea's, as system tools print it. */
const leftovers = `
ls -d /etc/cni/net.d/*antrea* /opt/cni/bin/antrea /opt/cni/bin/portmap /var/lib/antrea /var/run/antrea 2>/dev/null
ip -o link show group 178
ip -o link | grep -E ' (br-int|antrea-gw0|ovs-netdev|ovs-system)'
for proto in 178 179 180 181; do ip route show table all proto $proto; ip -6 route show table all proto $proto; done
for family in -4 -6; do ip $family rule | grep 'lookup 181'; done
nft list tables 2>/dev/null | grep antrea
for tables in iptables-nft iptables-legacy ip6tables-nft ip6tables-legacy; do $tables -S 2>/dev/null | grep '"antrea: '; done
true`;

const conflistsOn = (node: string): Promise<string> =>
    shellOnNode(node, "ls /etc/cni/net.d").then((names) => names.trim());

/** Its last lines show why an agent left its file where it was; nobody has them once its Pod is gone. */
const logToTheEnd = (pod: string): Promise<string> =>
    kubectl([...inSystem, "logs", "--follow", "--tail=1", pod, "-c", "antrea-agent"], { timeoutMs: 300_000 });

async function programsRolledOut(): Promise<void> {
    for (const program of programs) await rolledOut(systemNamespace, program, 180);
}

/** Edits ConfigMap antrea-config as a user does, and restarts the programs that read it. */
async function configure(change: (file: string, text: string) => string): Promise<void> {
    const data = await configFiles();
    const changed = Object.fromEntries(Object.entries(data).map(([file, text]) => [file, change(file, text)]));
    await writeFiles(changed);
    await kubectl([...inSystem, "rollout", "restart", ...programs]);
    await programsRolledOut();
}

// the first part uninstalls, the second installs
describe("uninstalling and installing", () => {
    /** Of the release, as JSON. */
    let values: string;
    let manifest: string;
    let folder: string;

    beforeAll(async () => {
        values = await run("helm", ["get", "values", "antrea", ...inSystem, "-o", "json"]);
        folder = await mkdtemp(join(tmpdir(), "manifest-"));
        const file = join(folder, "values.json");
        await writeFile(file, values);
        manifest = join(root, "dist/antrea.yml");
        // the images and the network of this cluster; what the ConfigMap enables later is disabled
        const off = ["featureGates=null", `nodeIPAM.enable=false,enableBridgingMode=false,noSNAT=false,${atOnce}`];
        const options = ["--values", file, ...off.flatMap((value) => ["--set", value])];
        await run(join(root, "tools/manifest.sh"), options, { timeoutMs: 60_000 });
    });

    afterAll(async () => {
        await kubectl(["delete", "ippool", "e2e-manifest", "--ignore-not-found"]);
        // helm adopts the existing objects
        const chart = process.env["E2E_CHART"] ?? "charts/antrea";
        const options = ["--take-ownership", "--values", "-", "--set", atOnce, "--wait"];
        const install = ["install", "antrea", chart, ...inSystem, ...options];
        await run("helm", install, { input: values, timeoutMs: 200_000 });
        await waitForAgents();
        await rm(folder, { recursive: true });
    });

    describe("helm uninstall", () => {
        it("takes the CNI configuration off every Node, and the clean-up all the rest", async () => {
            // with all that can be on a Node: kube-proxy stays beside it, so that the cluster goes on
            // and no kubeAPIServerOverride: the agents reach the API server through OVS
            await helmUpgrade(["antreaProxy.proxyAll=true"]);
            for (const node of allNodes) {
                expect(await conflistsOn(node)).toBe("10-antrea.conflist");
                expect(await shellOnNode(node, leftovers)).toMatch(/lookup 181\b[^]*antrea-services/);
            }
            const field = "jsonpath={.spec.template.spec.containers[0].image}";
            const image = await kubectl([...inSystem, "get", "daemonset", "antrea-agent", "-o", field]);
            const pods = await Promise.all(allNodes.map((node) => systemPod("antrea-agent", node)));
            const uninstall = run("helm", ["uninstall", "antrea", ...inSystem, "--wait"], { timeoutMs: 180_000 });
            const [logs] = await Promise.all([Promise.all(pods.map(logToTheEnd)), uninstall]);
            for (const log of logs) expect(log).toContain("the CNI configuration is removed from this Node");
            await eventually("every agent is gone and its file with it", async () => {
                const files = await Promise.all(allNodes.map(conflistsOn));
                return files.every((names) => names === "") ? true : undefined;
            });
            await eventually("the Nodes report that they have no network", async () => {
                const ready = (await nodeObjects()).map(
                    (node) => node.status.conditions.find(({ type }) => type === "Ready")?.status,
                );
                return ready.every((status) => status === "False") ? true : undefined;
            });
            for (const node of allNodes) expect(await shellOnNode(node, leftovers)).toContain("antrea-gw0");
            const text = await readFile(join(root, "docs/clean-up.yaml"), "utf8");
            const cleanUp = text.replaceAll(/image: .*/g, `image: ${image}`);
            try {
                await kubectl(["apply", "-f", "-"], { input: cleanUp });
                await rolledOut(systemNamespace, "daemonset/antrea-clean-up");
                for (const node of allNodes) expect([node, await shellOnNode(node, leftovers)]).toEqual([node, ""]);
            } finally {
                await kubectl(["delete", "-f", "-", "--wait"], { input: cleanUp, timeoutMs: 60_000 });
            }
        });
    });

    describe("dist/antrea.yml of make manifest", () => {
        it("installs antrea by kubectl apply, and changes nothing the second time", async () => {
            await kubectl(["apply", "-f", manifest], { timeoutMs: 60_000 });
            await programsRolledOut();
            await kubectl(["wait", "--for=condition=Ready", "nodes", "--all", "--timeout=120s"], {
                timeoutMs: 130_000,
            });
            // the clean-up has removed the interfaces of running Pods
            await kubectl([...inSystem, "rollout", "restart", "deployment/coredns"]);
            await rolledOut(systemNamespace, "deployment/coredns");
            const generations = async (): Promise<string> =>
                kubectl([...inSystem, "get", ...programs, "-o", "jsonpath={.items[*].metadata.generation}"]);
            const before = await generations();
            await kubectl(["apply", "-f", manifest], { timeoutMs: 60_000 });
            expect(await generations()).toBe(before);
        });

        describe("and its ConfigMap, edited by hand", () => {
            beforeAll(
                () =>
                    configure((file, text) => {
                        const gated = text.replace(
                            /^featureGates:.*\n( +(\{\}|null)\n)?/m,
                            "featureGates:\n  AntreaIPAM: true\n",
                        );
                        if (file === "antrea-controller.conf")
                            return gated.replace("enableNodeIPAM: false", "enableNodeIPAM: true");
                        return file.endsWith(".conf") ? gated : text;
                    }),
                300_000,
            );

            it("have NodeIPAM switched on", async () => {
                const { nodeIPAM } = JSON.parse(values) as {
                    readonly nodeIPAM: { readonly clusterCIDRs: readonly string[] };
                };
                expect(nodeIPAM.clusterCIDRs.length).toBeGreaterThan(0);
                const container = ["deployment/antrea-controller", "-c", "antrea-controller"];
                expect(await kubectl([...inSystem, "logs", ...container])).not.toMatch(/FORBIDDEN|forbidden/);
            });

            it("have IPPools switched on: the webhook judges them, and Pods get their addresses", async () => {
                const subnet = { gateway: "10.22.0.1", prefixLength: 24 };
                const pool = poolManifest("e2e-manifest", { cidr: "10.22.0.0/24", ...subnet });
                await eventually("the pool is accepted", () => apply(pool).then(() => true), 60_000);
                const overlapping = poolManifest("e2e-manifest-2", { cidr: "10.22.0.0/25", ...subnet });
                await expect(apply(overlapping)).rejects.toThrow("e2e-manifest");
                await using namespace = await TestNamespace.create("e2e-manifest");
                const [pod] = await namespace.start([
                    { name: "pooled", node: workers[0] ?? "", annotations: { [poolsKey]: "e2e-manifest" } },
                ]);
                expect(inPrefix(pod?.ip4 ?? "", "10.22.0.0/24")).toBe(true);
                await namespace.delete("pooled");
                await eventually("the address is free again", async () =>
                    (await allocationsOf("e2e-manifest")).length === 0 ? true : undefined,
                );
            });
        });
    });
});
