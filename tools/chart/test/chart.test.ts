import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";
import { parse, parseAllDocuments } from "yaml";

const run = promisify(execFile);
const chart = new URL("../../../charts/antrea/", import.meta.url);
const required = ["--set", "trafficEncapMode=noEncap"];

interface Manifest {
    readonly kind: string;
    readonly metadata: {
        readonly name: string;
        readonly namespace?: string;
        readonly annotations?: Record<string, string>;
    };
    readonly data?: Record<string, string>;
    readonly spec?: { readonly template: { readonly metadata: { readonly annotations: Record<string, string> } } };
    readonly rules?: readonly {
        readonly apiGroups: string[];
        readonly resources: string[];
        readonly verbs: string[];
    }[];
}

async function render(...options: readonly string[]): Promise<Manifest[]> {
    const args = [
        "template",
        "antrea",
        chart.pathname,
        "--kube-version",
        "1.33.0",
        "--namespace",
        "kube-system",
        ...required,
        ...options,
    ];
    const { stdout } = await run("helm", args, { maxBuffer: 16 << 20 });
    return parseAllDocuments(stdout).map((document) => document.toJSON() as Manifest);
}

function named(manifests: readonly Manifest[], kind: string, name: string): Manifest {
    const found = manifests.find((one) => one.kind === kind && one.metadata.name === name);
    if (found === undefined) throw new Error(`no ${kind} ${name}`);
    return found;
}

/** Every leaf of values.yaml; a map that users fill is a leaf. */
function leaves(value: unknown, path: readonly string[] = []): string[][] {
    const isGroup =
        typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length > 0;
    return isGroup ? Object.entries(value).flatMap(([key, inner]) => leaves(inner, [...path, key])) : [[...path]];
}

const open = new Set(["nodeSelector", "updateStrategy", "resources"]);
const paths = leaves(parse(readFileSync(new URL("values.yaml", chart), "utf8"))).filter(
    (path) => !path.slice(0, -1).some((key) => open.has(key)),
);

describe("chart antrea", () => {
    it("has schema and README as values.yaml tells", async () => {
        const generate = new URL("../generate.ts", import.meta.url).pathname;
        await expect(run("node", [generate, "--check"])).resolves.toBeDefined();
    });

    it("passes helm lint", async () => {
        const { stdout } = await run("helm", ["lint", "--strict", chart.pathname, ...required]);
        expect(stdout).toContain("0 chart(s) failed");
    });

    it("refuses every value that is misspelt and names it", async () => {
        expect(paths.length).toBeGreaterThan(50);
        for (const path of paths) {
            const wrong = `${path.at(-1)}x`;
            const key = [...path.slice(0, -1), wrong].join(".");
            await expect(run("helm", ["lint", chart.pathname, ...required, "--set", `${key}=1`])).rejects.toMatchObject(
                {
                    stdout: expect.stringContaining(wrong),
                },
            );
        }
    }, 120_000);

    it.each([
        ["a mode that is not there", ["--set", "trafficEncapMode=encap"], "trafficEncapMode: encap is not available"],
        ["a mode that does not exist", ["--set", "trafficEncapMode=none"], "trafficEncapMode"],
        ["nodeIPAM without a range", ["--set", "nodeIPAM.enable=true"], "nodeIPAM.clusterCIDRs"],
        ["a mask that is out of range", ["--set", "nodeIPAM.nodeCIDRMaskSizeIPv4=31"], "nodeCIDRMaskSizeIPv4"],
        ["text where a number belongs", ["--set", "agent.apiPort=high"], "apiPort"],
    ])("refuses %s", async (_name, options, message) => {
        await expect(render(...options)).rejects.toMatchObject({ stderr: expect.stringContaining(message) });
    });

    it("writes configuration files that are YAML with the values given", async () => {
        const manifests = await render(
            "--set",
            "ovs.datapathType=netdev,noSNAT=true,featureGates.NodeIPAM=true,agent.apiPort=10399",
            "--set",
            "nodeIPAM.enable=true,nodeIPAM.clusterCIDRs={10.0.0.0/16,fd00::/56}",
        );
        const { data = {} } = named(manifests, "ConfigMap", "antrea-config");
        expect(parse(data["antrea-agent.conf"] ?? "")).toMatchObject({
            ovsDatapathType: "netdev",
            noSNAT: true,
            trafficEncapMode: "noEncap",
            apiPort: 10399,
            featureGates: { NodeIPAM: true },
        });
        expect(parse(data["antrea-controller.conf"] ?? "")).toMatchObject({
            nodeIPAM: { enableNodeIPAM: true, clusterCIDRs: ["10.0.0.0/16", "fd00::/56"], nodeCIDRMaskSizeIPv4: 24 },
        });
        expect(JSON.parse(data["antrea-cni.conflist"] ?? "")).toMatchObject({ cniVersion: "1.1.0", name: "antrea" });
    });

    it("restarts exactly the programs whose configuration changed", async () => {
        const checksums = async (...options: string[]): Promise<(string | undefined)[]> => {
            const manifests = await render(...options);
            return (["DaemonSet/antrea-agent", "Deployment/antrea-controller"] as const).map((id) => {
                const [kind = "", name = ""] = id.split("/");
                return named(manifests, kind, name).spec?.template.metadata.annotations["checksum/config"];
            });
        };
        const [agent, controller] = await checksums();
        expect(await checksums("--set", "noSNAT=true")).toEqual([expect.not.stringMatching(agent ?? ""), controller]);
        expect(await checksums("--set", "controller.apiPort=10400")).toEqual([
            agent,
            expect.not.stringMatching(controller ?? ""),
        ]);
        expect(await checksums("--set", "agentImage.pullPolicy=Always")).toEqual([agent, controller]);
    });

    it("grants no wildcard and writes only where the programs write", async () => {
        const manifests = await render();
        const rules = manifests
            .filter(({ kind }) => kind === "ClusterRole")
            .flatMap(({ metadata, rules = [] }) => rules.map((rule) => ({ role: metadata.name, ...rule })));
        expect(rules.length).toBeGreaterThan(0);
        for (const rule of rules) expect([...rule.apiGroups, ...rule.resources, ...rule.verbs]).not.toContain("*");
        const writes = rules.filter(({ verbs }) => verbs.some((verb) => !["get", "list", "watch"].includes(verb)));
        expect(writes.map(({ role, resources }) => `${role}: ${resources.join()}`)).toEqual([
            "antrea-agent: tokenreviews",
            "antrea-agent: subjectaccessreviews",
            "antrea-controller: nodes",
            "antrea-controller: events",
            "antrea-controller: tokenreviews",
            "antrea-controller: subjectaccessreviews",
        ]);
    });
});
