import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { configMaps, nodes, type ApiClient, type KubeObject } from "@antrea/kube";
import { eventually, freePort, TestApiServer } from "@antrea/kube/testing";
import { parse } from "yaml";
import { DaemonProcess } from "@antrea/security/testing/daemon-process";
import { run } from "@antrea/chart/testing/render";

const root = new URL("../../", import.meta.url).pathname;

describe("dist/antrea.yml of make manifest", () => {
    let server: TestApiServer;
    let api: ApiClient;
    const folder = mkdtempSync(join(tmpdir(), "manifest-"));

    const apply = async (): Promise<readonly string[]> => {
        const { stdout } = await run("kubectl", [
            "--kubeconfig",
            server.kubeconfig(),
            "apply",
            "-f",
            join(root, "dist/antrea.yml"),
        ]);
        return stdout.trim().split("\n");
    };

    /** Name and version of each object of the manifest. */
    const versions = async (): Promise<readonly string[]> => {
        const get = ["--kubeconfig", server.kubeconfig(), "get", "-f", join(root, "dist/antrea.yml"), "-o", "json"];
        const { stdout } = await run("kubectl", get, { maxBuffer: 16 << 20 });
        const { items } = JSON.parse(stdout) as { readonly items: readonly KubeObject[] };
        return items.map(({ kind, metadata }) => `${kind} ${metadata?.name} ${metadata?.resourceVersion}`);
    };

    beforeAll(async () => {
        await run("make", ["-C", root, "manifest"]);
        server = await TestApiServer.start({ authorization: "RBAC", args: ["--allow-privileged=true"] });
        api = server.clients().api;
    });
    afterAll(async () => {
        await server.stop();
        rmSync(folder, { recursive: true });
    });

    it("is accepted by the API server as a whole, and changes nothing when it is applied again", async () => {
        const lines = await apply();
        expect(lines.length).toBeGreaterThan(40);
        expect(lines.filter((line) => !line.endsWith(" created"))).toEqual([]);
        // kubectl says "configured" where the API server added defaults to a list; the object is as it was
        const before = await versions();
        await apply();
        expect(await versions()).toEqual(before);
        expect(before).toHaveLength(lines.length);
    });

    it("has what NodeIPAM needs, when only the ConfigMap switches it on", async () => {
        const { data = {} } = await api.get(configMaps, { namespace: "kube-system", name: "antrea-config" });
        const account = await server.addServiceAccountUser({ namespace: "kube-system", name: "antrea-controller" });
        const file = join(folder, "antrea-controller.conf");
        const config = {
            ...(parse(data["antrea-controller.conf"] ?? "") as object),
            clientConnection: { kubeconfig: server.kubeconfig(account) },
            apiPort: await freePort(),
            nodeIPAM: { enableNodeIPAM: true, clusterCIDRs: ["172.100.0.0/16"] },
            featureGates: { AntreaIPAM: true },
        };
        writeFileSync(file, JSON.stringify(config));
        await server.addNode("node1", { internalIps: ["10.4.0.12"] });
        await using controller = new DaemonProcess("controller", ["--config", file]);
        await eventually(async () => (await api.get(nodes, { name: "node1" })).spec?.podCIDR !== undefined, {
            timeoutMs: 60_000,
            what: "the podCIDR of a Node",
        });
        expect(await controller.stop()).toBe(0);
        expect(controller.output).not.toMatch(/FORBIDDEN/);
    });
});
