import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inPrefix } from "../fixture/addresses.ts";
import { apply, getJson, kubectl, systemNamespace, waitForAgents, workers } from "../fixture/cluster.ts";
import { claimsOf, poolManifest, poolsKey } from "../fixture/ipam.ts";
import { TestNamespace } from "../fixture/pods.ts";
import { eventually, run } from "../fixture/run.ts";

const root = new URL("../../", import.meta.url).pathname;
const inSystem = ["-n", systemNamespace];
const programs = ["daemonset/antrea-agent", "deployment/antrea-controller", "deployment/antrea-webhook"];

async function rolledOut(): Promise<void> {
    for (const program of programs) {
        await kubectl([...inSystem, "rollout", "status", program, "--timeout=180s"], { timeoutMs: 190_000 });
    }
}

/** Edits ConfigMap antrea-config as a person does, and restarts what reads it. */
async function configure(change: (file: string, text: string) => string): Promise<void> {
    const { data } = await getJson<{ readonly data: Readonly<Record<string, string>> }>([
        ...inSystem,
        "configmap",
        "antrea-config",
    ]);
    const changed = Object.fromEntries(Object.entries(data).map(([file, text]) => [file, change(file, text)]));
    await kubectl([
        ...inSystem,
        "patch",
        "configmap",
        "antrea-config",
        "--type=merge",
        "--patch",
        JSON.stringify({ data: changed }),
    ]);
    await kubectl([...inSystem, "rollout", "restart", ...programs]);
    await rolledOut();
}

describe("dist/antrea.yml of make manifest", () => {
    let folder: string;
    let values: string;
    let manifest: string;

    beforeAll(async () => {
        folder = await mkdtemp(join(tmpdir(), "manifest-"));
        values = await run("helm", ["get", "values", "antrea", "--namespace", systemNamespace, "-o", "json"]);
        const file = join(folder, "values.json");
        await writeFile(file, values);
        manifest = join(root, "dist/antrea.yml");
        // the images and the network of this cluster; what the ConfigMap is to switch on is off
        const off = [
            "--set",
            "featureGates=null",
            "--set",
            "nodeIPAM.enable=false,enableBridgingMode=false,noSNAT=false",
        ];
        await run(join(root, "tools/manifest.sh"), ["--values", file, ...off], { timeoutMs: 60_000 });
        await run("helm", ["uninstall", "antrea", "--namespace", systemNamespace, "--wait"], { timeoutMs: 180_000 });
    }, 300_000);

    afterAll(async () => {
        await kubectl(["delete", "ippool", "e2e-manifest", "--ignore-not-found"]);
        // helm takes over what is there
        await run(
            "helm",
            [
                "install",
                "antrea",
                process.env["E2E_CHART"] ?? "charts/antrea",
                "--namespace",
                systemNamespace,
                "--take-ownership",
                "--values",
                "-",
                "--wait",
            ],
            { input: values, timeoutMs: 200_000 },
        );
        await waitForAgents();
        await rm(folder, { recursive: true });
    }, 400_000);

    it("installs antrea by kubectl apply, and changes nothing the second time", async () => {
        await kubectl(["apply", "-f", manifest], { timeoutMs: 60_000 });
        await rolledOut();
        await kubectl(["wait", "--for=condition=Ready", "nodes", "--all", "--timeout=120s"], { timeoutMs: 130_000 });
        const generations = async (): Promise<string> =>
            kubectl([...inSystem, "get", ...programs, "-o", "jsonpath={.items[*].metadata.generation}"]);
        const before = await generations();
        await kubectl(["apply", "-f", manifest], { timeoutMs: 60_000 });
        expect(await generations()).toBe(before);
    }, 400_000);

    it("has NodeIPAM switched on by the ConfigMap", async () => {
        const { nodeIPAM } = JSON.parse(values) as { readonly nodeIPAM: { readonly clusterCIDRs: readonly string[] } };
        expect(nodeIPAM.clusterCIDRs.length).toBeGreaterThan(0);
        await configure((file, text) =>
            file === "antrea-controller.conf" ? text.replace("enableNodeIPAM: false", "enableNodeIPAM: true") : text,
        );
        const log = await kubectl([...inSystem, "logs", "deployment/antrea-controller", "-c", "antrea-controller"]);
        expect(log).not.toMatch(/FORBIDDEN|forbidden/);
    }, 300_000);

    it("has IPPools switched on by the ConfigMap: the webhook judges them, and Pods get their addresses", async () => {
        await configure((file, text) =>
            file.endsWith(".conf")
                ? text.replace(/^featureGates:.*\n( +(\{\}|null)\n)?/m, "featureGates:\n  AntreaIPAM: true\n")
                : text,
        );
        const pool = poolManifest("e2e-manifest", { cidr: "10.22.0.0/24", gateway: "10.22.0.1", prefixLength: 24 });
        await eventually(
            "the pool is accepted",
            () =>
                apply(pool).then(
                    () => true,
                    () => undefined,
                ),
            60_000,
        );
        const overlapping = poolManifest("e2e-manifest-2", {
            cidr: "10.22.0.0/25",
            gateway: "10.22.0.1",
            prefixLength: 24,
        });
        await expect(apply(overlapping)).rejects.toThrow("e2e-manifest");
        await using namespace = await TestNamespace.create("e2e-manifest");
        const [pod] = await namespace.start([
            { name: "pooled", node: workers[0] ?? "", annotations: { [poolsKey]: "e2e-manifest" } },
        ]);
        expect(inPrefix(pod?.ip4 ?? "", "10.22.0.0/24")).toBe(true);
        await namespace.delete("pooled");
        await eventually("the address is free again", async () =>
            (await claimsOf("e2e-manifest")).length === 0 ? true : undefined,
        );
    }, 400_000);
});
