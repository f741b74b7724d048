import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "@jest/globals";
import { loadAgentConfig } from "@antrea/settings";
import { parse } from "yaml";
import { chart, named, render, required, run, type Manifest } from "./render.ts";

const folder = mkdtempSync(join(tmpdir(), "antrea-notes-"));
afterAll(() => rmSync(folder, { recursive: true }));

const bridge = { bridgeName: "br-sec", physicalInterfaces: ["eth1", "eth2"] };
const bridges = ["--set-json", `secondaryNetwork.ovsBridges=${JSON.stringify([bridge])}`];
const gate = ["--set", "featureGates.SecondaryNetwork=true"];

interface AgentTemplate {
    readonly spec: {
        readonly containers: readonly { readonly volumeMounts?: readonly { readonly name: string }[] }[];
        readonly volumes: readonly { readonly name: string; readonly hostPath?: { readonly path: string } }[];
    };
}

function agentConfig(manifests: readonly Manifest[]): string {
    return named(manifests, "ConfigMap", "antrea-config").data?.["antrea-agent.conf"] ?? "";
}

/** The notes on one line. Helm shows them of an installation only, so they are put into an object here. */
async function notes(...options: readonly string[]): Promise<string> {
    cpSync(chart, folder, { recursive: true });
    const text = readFileSync(new URL("templates/NOTES.txt", chart), "utf8");
    const object = 'kind: Notes\ndata:\n  text: {{ include "notes" . | toJson }}\n';
    writeFileSync(join(folder, "templates/notes.yaml"), `{{- define "notes" }}${text}{{ end -}}\n${object}`);
    const args = ["template", "antrea", folder, "--kube-version", "1.33.0", "--show-only", "templates/notes.yaml"];
    const { stdout } = await run("helm", [...args, ...required, ...options]);
    const { data } = parse(stdout) as { readonly data: { readonly text: string } };
    return data.text.replaceAll(/\s+/g, " ");
}

describe("secondary networks", () => {
    it.each([
        ["the bridge, if there is one", bridges, [{ ...bridge, enableMulticastSnooping: false }]],
        ["an empty list by default", [], []],
        ["an empty list for null", ["--set", "secondaryNetwork=null"], []],
    ])("have in the agent's configuration %s", async (_name, options, ovsBridges) => {
        const manifests = await render(...gate, ...options);
        const { config, gates } = loadAgentConfig(agentConfig(manifests));
        expect([config.secondaryNetwork, gates.enabled("SecondaryNetwork")]).toEqual([{ ovsBridges }, true]);
    });

    it.each([
        ["not without the gate", [], []],
        ["by default", gate, ["/var/lib/kubelet/pod-resources"]],
        [
            "elsewhere",
            [...gate, "--set", "agent.podResourcesPath=/var/lib/k0s/kubelet/pod-resources"],
            ["/var/lib/k0s/kubelet/pod-resources"],
        ],
    ])("let the agent ask the kubelet for devices: %s", async (_name, options, paths) => {
        const { spec } = named(await render(...options), "DaemonSet", "antrea-agent");
        const pod = (spec?.["template"] as AgentTemplate).spec;
        const volumes = pod.volumes.filter(({ name }) => name === "host-pod-resources");
        expect(volumes.map(({ hostPath }) => hostPath?.path)).toEqual(paths);
        const [agent] = pod.containers;
        const mounts = agent?.volumeMounts?.filter(({ name }) => name === "host-pod-resources");
        expect(mounts).toEqual(
            paths.map(() => ({
                name: "host-pod-resources",
                mountPath: "/var/lib/kubelet/pod-resources",
                readOnly: true,
            })),
        );
    });

    it("restart the agents when the bridge changes, and nothing else", async () => {
        const [before, after] = [await render(...gate), await render(...gate, ...bridges)];
        const templates = (manifests: readonly Manifest[]): readonly unknown[] =>
            ["DaemonSet antrea-agent", "Deployment antrea-controller", "Deployment antrea-webhook"].map((id) => {
                const [kind = "", name = ""] = id.split(" ");
                return named(manifests, kind, name).spec?.["template"];
            });
        const [agent, ...others] = templates(before);
        expect(templates(after)).toEqual([expect.not.objectContaining(agent as object), ...others]);
    });

    it.each([
        ["neither gate nor bridge", []],
        ["gate and bridge", [...gate, ...bridges]],
        ["a bridge without the gate", bridges],
        ["the gate without a bridge", gate],
        ["the gates of its stage without a bridge", ["--set", "featureGates.AllAlpha=true"]],
    ])("have in the notes what the agent warns of: %s", async (_name, options) => {
        const { warnings } = loadAgentConfig(agentConfig(await render(...options)));
        const warning = warnings.filter((line) => line.includes("secondaryNetwork"));
        const text = await notes(...options);
        const noted = [...text.matchAll(/\S+ has no effect/g)].map(([words]) => words);
        expect(noted).toHaveLength(warning.length);
        for (const line of warning) expect(text).toContain(line);
    });
});
