import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { TestApiServer } from "@antrea/kube/testing";
import { customResourceDefinitions } from "@antrea/crd/schema";
import { parse } from "yaml";
import { chart, render, required, run } from "./render.ts";

interface Definition {
    readonly metadata: object;
    readonly spec: { readonly versions: readonly { readonly name: string }[] };
}

const fixture = new URL("../../../e2e/fixture/antrea-in-go/", import.meta.url).pathname;

describe("the chart in a cluster that has, or had, Antrea in Go", () => {
    let server: TestApiServer;
    const cache = mkdtempSync(join(tmpdir(), "helm-"));

    const helm = async (...args: readonly string[]): Promise<string> => {
        const env = { ...process.env, HELM_CACHE_HOME: cache, KUBECONFIG: server.kubeconfig() };
        const { stdout } = await run("helm", [...args, "--namespace", "kube-system"], { env, maxBuffer: 16 << 20 });
        return stdout;
    };
    const kubectl = async (...args: readonly string[]): Promise<string> => {
        const { stdout } = await run("kubectl", ["--kubeconfig", server.kubeconfig(), ...args]);
        return stdout;
    };
    const install = (...options: readonly string[]): Promise<string> =>
        helm("upgrade", "--install", "antrea", chart.pathname, ...required, ...options);
    const refusal = async (...options: readonly string[]): Promise<readonly string[]> => {
        const { stderr } = await install(...options).then(
            () => ({ stderr: "" }),
            (error: unknown) => error as { readonly stderr: string },
        );
        return stderr.split("\n").filter((line) => /^(\w+) [\w./-]+: /.test(line));
    };
    const names = (lines: readonly string[]): readonly string[] => lines.map((line) => line.split(": ")[0] ?? "");

    beforeAll(async () => {
        server = await TestApiServer.start({ args: ["--allow-privileged=true"] });
        await helm("install", "antrea", fixture);
    });
    afterAll(async () => {
        await server.stop();
        rmSync(cache, { recursive: true });
    });

    it("refuses to upgrade its release, and names all that is in the way with a next step", async () => {
        const before = await kubectl("get", "daemonsets,deployments,configmaps", "-A", "-o", "name");
        const lines = await refusal();
        expect(names(lines)).toEqual([
            "DaemonSet kube-system/antrea-agent",
            "Deployment kube-system/antrea-controller",
            "ValidatingWebhookConfiguration crdvalidator.antrea.io",
            "MutatingWebhookConfiguration crdmutator.antrea.io",
            "APIService v1beta2.controlplane.antrea.io",
            "APIService v1beta1.system.antrea.io",
            "APIService v1alpha1.stats.antrea.io",
            "CustomResourceDefinition ippools.crd.antrea.io",
        ]);
        expect(lines.at(-1)).toContain("stored as v1beta1 (status.storedVersions), and here is v1alpha2 only");
        for (const line of lines) expect(line).toMatch(/uninstall it|kubectl delete /);
        expect(await kubectl("get", "daemonsets,deployments,configmaps", "-A", "-o", "name")).toBe(before);
        // taking over the objects does not make it another Antrea's
        expect(await refusal("--take-ownership")).toEqual(lines);
    });

    it("refuses what uninstalling leaves, which is the definition, and is installed without", async () => {
        await helm("uninstall", "antrea");
        expect(names(await refusal())).toEqual(["CustomResourceDefinition ippools.crd.antrea.io"]);
        // the API server's own response
        const ours = customResourceDefinitions()[0];
        await expect(
            kubectl(
                "patch",
                "crd",
                "ippools.crd.antrea.io",
                "--type=merge",
                "-p",
                JSON.stringify({ spec: ours?.spec }),
            ),
        ).rejects.toThrow(/status\.storedVersions\[0\]: Invalid value: "v1beta1"/);
        await kubectl("delete", "crd", "ippools.crd.antrea.io");

        // as an Antrea that has one version only, which is ours
        const file = join(cache, "definition.yaml");
        const definition = parse(readFileSync(join(fixture, "crds/ippools.yaml"), "utf8")) as Definition;
        const only = definition.spec.versions.filter(({ name }) => name === "v1alpha2");
        const finalizer = { ...definition.metadata, finalizers: ["example.org/stays"] };
        const spec = { ...definition.spec, versions: only.map((version) => ({ ...version, storage: true })) };
        writeFileSync(file, JSON.stringify({ ...definition, metadata: finalizer, spec }));
        await kubectl("apply", "-f", file);
        expect(await refusal()).toEqual([expect.stringContaining("is not of this chart: save its objects")]);
        await kubectl("delete", "--wait=false", "-f", file);
        expect(await refusal()).toEqual([expect.stringContaining("is being deleted; if it stays so")]);
        const none = ["--type=merge", "-p", '{"metadata":{"finalizers":null}}'];
        await kubectl("patch", "crd", "ippools.crd.antrea.io", ...none);
        await install();
        // its own objects are no other's
        await install();
    });

    it("knows the versions that it serves", async () => {
        const text = readFileSync(new URL("templates/_other-antrea.tpl", chart), "utf8");
        const served = parse(/define "antrea.servedVersions" -}}\n(.*?){{- end }}/s.exec(text)?.[1] ?? "") as unknown;
        const definitions = (await render()).filter(({ kind }) => kind === "CustomResourceDefinition");
        expect(served).toEqual(
            Object.fromEntries(
                definitions.map(({ metadata, spec }) => [
                    metadata.name,
                    (spec as { readonly versions: readonly { readonly name: string }[] }).versions[0]?.name,
                ]),
            ),
        );
    });
});
