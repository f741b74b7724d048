import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "@jest/globals";
import { antreaValues } from "../antrea-values.ts";
import { named, render } from "./render.ts";

const folder = mkdtempSync(join(tmpdir(), "antrea-values-"));

/** A values file with a value of each. */
function fileWith(valueOf: (value: (typeof antreaValues)[number]) => unknown): string {
    const root: Record<string, unknown> = {};
    for (const one of antreaValues) {
        const steps = one.path.split(".");
        const last = steps.pop() ?? "";
        const level = steps.reduce<Record<string, unknown>>(
            (inner, step) => (inner[step] ??= {}) as Record<string, unknown>,
            root,
        );
        level[last] = valueOf(one);
    }
    const file = join(folder, "values.json");
    writeFileSync(file, JSON.stringify(root));
    return file;
}

describe("values of Antrea's chart", () => {
    afterAll(() => rmSync(folder, { recursive: true }));

    it("are many", () => {
        expect(antreaValues.length).toBeGreaterThan(65);
        expect(new Set(antreaValues.map(({ path }) => path)).size).toBe(antreaValues.length);
    });

    it.each([
        ["at Antrea's defaults", (accepted: readonly unknown[]) => accepted[0]],
        ["off", (accepted: readonly unknown[]) => accepted.at(-1)],
    ])("are accepted %s, and change nothing", async (_name, choose) => {
        const without = await render();
        expect(
            await render(
                "-f",
                fileWith(({ accepted }) => choose(accepted)),
            ),
        ).toEqual(without);
    });

    it("are refused by name where they ask for what is not there", async () => {
        const file = fileWith(() => "something else");
        const { stderr } = await render("-f", file).then(
            () => ({ stderr: "" }),
            (error: unknown) => error as { readonly stderr: string },
        );
        const lines = stderr.split("\n").filter((line) => line.includes(": not available in this version"));
        expect(lines.map((line) => line.split(": ")[0]).sort()).toEqual(antreaValues.map(({ path }) => path).sort());
    });

    it.each([
        ["agentImage", "antrea/antrea-agent-ubuntu"],
        ["controllerImage", "registry.example.org/antrea/antrea-controller-ubi"],
        ["agentImage", "antrea/antrea-ubuntu"],
    ])("are refused where %s names %s, which other programs are in", async (key, repository) => {
        await expect(render("--set", `${key}.repository=${repository}`)).rejects.toThrow(
            `${key}.repository: "${repository}": is an image of Antrea in Go`,
        );
        await render("--set", `${key}.repository=registry.example.org/ubuntu/antrea-agent`);
    });

    it("are served where that is simple: volumes, DNS, a certificate of one's own", async () => {
        const manifests = await render(
            "--set",
            "agent.dnsPolicy=ClusterFirstWithHostNet,controller.selfSignedCert=false",
            "--set",
            "agent.extraVolumes[0].name=x,agent.extraVolumes[0].emptyDir.medium=Memory",
            "--set",
            "agent.antreaAgent.extraVolumeMounts[0].name=x",
            "--set",
            "agent.antreaAgent.extraVolumeMounts[0].mountPath=/x",
        );
        const agent = JSON.stringify(named(manifests, "DaemonSet", "antrea-agent").spec);
        expect(agent).toContain('"dnsPolicy":"ClusterFirstWithHostNet"');
        expect(agent).toContain('{"mountPath":"/x","name":"x"}');
        expect(agent).toContain('{"emptyDir":{"medium":"Memory"},"name":"x"}');
        expect(named(manifests, "ConfigMap", "antrea-config").data?.["antrea-controller.conf"]).toContain(
            "selfSignedCert: false",
        );
    });

    it("mount the controller's Secret where there is one, as selfSignedCert may be set in the ConfigMap too", async () => {
        const { template } = named(await render(), "Deployment", "antrea-controller").spec as {
            readonly template: {
                readonly spec: Readonly<Record<string, readonly { readonly name: string }[]>>;
            };
        };
        const { volumes, containers, initContainers } = template.spec;
        expect(volumes).toContainEqual({
            name: "antrea-controller-tls",
            secret: { secretName: "antrea-controller-tls", optional: true, defaultMode: 0o444 },
        });
        for (const container of [...(containers ?? []), ...(initContainers ?? [])]) {
            expect(container).toMatchObject({
                volumeMounts: expect.arrayContaining([
                    {
                        name: "antrea-controller-tls",
                        mountPath: "/var/run/antrea/antrea-controller-tls",
                        readOnly: true,
                    },
                ]),
            });
        }
    });
});
