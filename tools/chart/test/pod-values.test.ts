import { describe, expect, it } from "@jest/globals";
import { named, render, run, chart, type Manifest } from "./render.ts";

interface Template {
    readonly metadata: {
        readonly labels: Readonly<Record<string, string>>;
        readonly annotations: Readonly<Record<string, string>>;
    };
    readonly spec: {
        readonly containers: readonly Container[];
        readonly initContainers?: readonly Container[];
    };
}

interface Container {
    readonly name: string;
    readonly env?: readonly { readonly name: string }[];
}

const programs = [
    ["agent", "DaemonSet", "antrea-agent"],
    ["controller", "Deployment", "antrea-controller"],
    ["webhook", "Deployment", "antrea-webhook"],
] as const;

const templateOf = (manifests: readonly Manifest[], kind: string, name: string): Template =>
    named(manifests, kind, name).spec?.["template"] as Template;

/** The lines of helm against these values, one a value. */
async function helmReports(...sets: readonly string[]): Promise<readonly string[]> {
    const options = sets.flatMap((set) => ["--set-string", set]);
    try {
        await run("helm", ["template", "antrea", chart.pathname, "--kube-version", "1.33.0", ...options]);
        return [];
    } catch (error) {
        const { stderr } = error as { readonly stderr: string };
        const [, list = `not refused by a rule: ${stderr}`] = stderr.split("these values cannot be used:\n");
        return list.split("\n").filter((line) => line !== "" && !line.startsWith("Use --debug"));
    }
}

describe("values for the Pods of the programs", () => {
    it.each(["agentImage", "controllerImage", "webhookImage"])("%s names an image", async (image) => {
        const name = "must be the name of an image, without tag";
        const tag = "must be a tag, with or without a digest, or empty";
        for (const wrong of ["", "antrea/antrea agent", "antrea/antrea-agent:0.1.0", "/antrea", "antrea/"]) {
            expect(await helmReports(`${image}.repository=${wrong}`)).toEqual([
                `${image}.repository: ${JSON.stringify(wrong)}: ${name}`,
            ]);
        }
        for (const wrong of ["a b", ":0.1.0", "-1", "v".repeat(129)]) {
            expect(await helmReports(`${image}.tag=${wrong}`)).toEqual([
                `${image}.tag: ${JSON.stringify(wrong)}: ${tag}`,
            ]);
        }
        const digest = `sha256:${"0a".repeat(32)}`;
        expect(
            await helmReports(
                `${image}.repository=registry.example.com:5000/a/b_c/antrea`,
                `${image}.tag=v1@${digest}`,
            ),
        ).toEqual([]);
        // a digest in place of the tag, as some write it
        expect(
            await helmReports(`${image}.repository=localhost/antrea@sha256`, `${image}.tag=${"0a".repeat(32)}`),
        ).toEqual([]);
    });

    it.each(["cni.hostBinPath", "cni.hostConfPath", "agent.podResourcesPath"])(
        "%s is a folder of the Node",
        async (key) => {
            for (const wrong of ["", "x", "opt/cni/bin", "/opt/../etc", "/opt/cni:bin", "/opt/cni #bin"]) {
                expect(await helmReports(`${key}=${wrong}`)).toEqual([
                    `${key}: ${JSON.stringify(wrong)}: must be an absolute path without .. : # and quotes`,
                ]);
            }
            expect(await helmReports(`${key}=/var/lib/rancher/k3s/data/cni`)).toEqual([]);
        },
    );

    it.each(programs)("%s.podLabels leave those by which its Pods are found", async (app, kind, name) => {
        for (const [key, own] of [
            ["app", "antrea"],
            ["component", name],
        ] as const) {
            expect(await helmReports(`${app}.podLabels.${key}=foo`)).toEqual([
                `${app}.podLabels.${key}: "foo": must be ${own}, by which the Pods are found; leave it out`,
            ]);
        }
        const given = await render("--set", `${app}.podLabels.app=antrea,${app}.podLabels.team=net`);
        expect(templateOf(given, kind, name).metadata.labels).toEqual({ app: "antrea", component: name, team: "net" });
    });

    it.each(programs)("%s.podAnnotations leave that by which its Pods are restarted", async (app, kind, name) => {
        expect(await helmReports(`${app}.podAnnotations.checksum/config=x`)).toEqual([
            `${app}.podAnnotations.checksum/config: "x": is written by the chart, so that a change of the configuration restarts the Pods; leave it out`,
        ]);
        const key = "kubectl.kubernetes.io/default-container";
        const given = await render("--set", `${app}.podAnnotations.${key.replaceAll(".", "\\.")}=antrea-ovs`);
        expect(templateOf(given, kind, name).metadata.annotations).toMatchObject({ [key]: "antrea-ovs" });
    });

    it("extraEnv leaves the environment variables that the chart sets", async () => {
        const groups: Readonly<Record<string, string>> = {
            "install-cni": "agent.installCNI",
            "antrea-agent": "agent.antreaAgent",
            "antrea-ovs": "agent.antreaOVS",
            "check-config": "controller.antreaController",
            "antrea-controller": "controller.antreaController",
            "antrea-webhook": "webhook.antreaWebhook",
        };
        const manifests = await render("--set", "agent.dontLoadKernelModules=true");
        for (const [, kind, name] of programs) {
            const { containers, initContainers = [] } = templateOf(manifests, kind, name).spec;
            for (const container of [...containers, ...initContainers]) {
                const path = `${groups[container.name] ?? container.name}.extraEnv`;
                const names = (container.env ?? []).map((variable) => variable.name);
                const loads = ["SKIP_LOADING_KERNEL_MODULES"];
                const own = [...new Set(names)].filter((one) => !loads.includes(one)).sort();
                const lines = await helmReports(...names.map((one) => `${path}.${one}=x`));
                const mine = lines.filter((line) => own.some((one) => line.startsWith(`${path}.${one}: `)));
                expect([container.name, mine]).toEqual([
                    container.name,
                    own.map((one) => `${path}.${one}: "x": is set by the chart; leave it out`),
                ]);
            }
        }
        expect(await helmReports("agent.installCNI.extraEnv.SKIP_LOADING_KERNEL_MODULES=1")).toEqual([]);
    });
});
