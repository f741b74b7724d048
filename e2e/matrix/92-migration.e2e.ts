import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { allNodes, apply, kubectl, nodeObjects, shellOnNode, systemNamespace } from "../fixture/cluster.ts";
import { getJson } from "../fixture/objects.ts";
import { poolsKey } from "../fixture/ipam.ts";
import {
    antreaInGoChart,
    leaveNodesAsAntreaInGo,
    makeObjectsOfAntreaInGo,
    MigrationPage,
    oldPool,
    refusedInstallation,
} from "../fixture/migration.ts";
import { TestNamespace } from "../fixture/pods.ts";
import { eventually, run } from "../fixture/run.ts";
import { deployment, rolledOut, statefulSet } from "../fixture/workloads.ts";

const inSystem = ["--namespace", systemNamespace];
const kept = ["10.23.0.78", "10.23.0.77"];
const ownDefinitions = ["ippools.crd.antrea.io", "ipallocations.crd.antrea.io"];

/** The objects that prevent an installation, as helm names them. */
const inTheWay = [
    "DaemonSet kube-system/antrea-agent",
    "Deployment kube-system/antrea-controller",
    "ValidatingWebhookConfiguration crdvalidator.antrea.io",
    "MutatingWebhookConfiguration crdmutator.antrea.io",
    "APIService v1beta2.controlplane.antrea.io",
    "CustomResourceDefinition ippools.crd.antrea.io",
];

const podCidrs = async (): Promise<readonly string[]> =>
    (await nodeObjects()).map(({ metadata, spec }) => `${metadata.name} ${spec.podCIDRs?.join()}`).sort();

const installAntreaInGo = (): Promise<string> => run("helm", ["install", "antrea", antreaInGoChart, ...inSystem]);

// Upstream Antrea is not installed: only its objects and its traces on the Nodes exist.
describe("from Antrea in Go, by the commands of docs/migration.md", () => {
    let page: MigrationPage;
    let namespace: TestNamespace;
    let before: readonly string[];

    beforeAll(async () => {
        const values = JSON.parse(await run("helm", ["get", "values", "antrea", ...inSystem, "-o", "json"])) as object;
        const image = await kubectl([
            ...inSystem,
            "get",
            "daemonset",
            "antrea-agent",
            "-o",
            "jsonpath={.spec.template.spec.containers[0].image}",
        ]);
        page = await MigrationPage.open({ ...values, featureGates: { AntreaIPAM: true } }, image);
        before = await podCidrs();
        // Pods that outlive the change
        namespace = await TestNamespace.create("e2e-migration");
        await apply(deployment(namespace.name, { name: "web", replicas: 4 }));
        await rolledOut(namespace.name, "deployment/web");
        await run("helm", ["uninstall", "antrea", ...inSystem, "--wait"], { timeoutMs: 180_000 });
        await eventually("every agent is gone and its file with it", async () => {
            const files = await Promise.all(allNodes.map((node) => shellOnNode(node, "ls /etc/cni/net.d")));
            return files.every((names) => names === "") ? true : undefined;
        });
        await kubectl(["delete", "crd", "--ignore-not-found", ...ownDefinitions]);
        await leaveNodesAsAntreaInGo();
        await makeObjectsOfAntreaInGo({ namespace: namespace.name, name: "db", addresses: kept });
    });

    afterAll(async () => {
        await namespace[Symbol.asyncDispose]();
        await kubectl(["delete", "ippools.crd.antrea.io", oldPool, "--ignore-not-found"]);
        await page[Symbol.asyncDispose]();
    });

    it("refuses to be installed over objects of a manifest, also where helm is to take them over", async () => {
        const render = ["template", "antrea", antreaInGoChart, ...inSystem, "--kube-version", "1.34"];
        const manifest = await run("helm", render);
        await kubectl(["apply", "-f", "-"], { input: manifest });
        for (const options of [[], ["--take-ownership"]]) {
            const refusal = await refusedInstallation(...options);
            for (const name of inTheWay) expect(refusal).toContain(`\n${name}: `);
        }
        await kubectl(["delete", "-f", "-", "--wait"], { input: manifest });
    });

    it("refuses to upgrade its release, and leaves it as it was", async () => {
        await installAntreaInGo();
        const refusal = await refusedInstallation();
        for (const name of inTheWay) expect(refusal).toContain(`\n${name}: `);
        const labels = await kubectl([
            ...inSystem,
            "get",
            "daemonset",
            "antrea-agent",
            "-o",
            "jsonpath={.metadata.labels}",
        ]);
        expect(labels).not.toContain("app.kubernetes.io/name");
    });

    it("saves and converts the pools (steps 1 and 2)", async () => {
        await page.run("1. ");
        expect(await page.run("2. ")).toBe("");
        expect((await page.read("pools.yaml")).match(/^kind: .*/gm)).toEqual([
            "kind: IPAllocation",
            "kind: IPAllocation",
            "kind: IPPool",
        ]);
    });

    it("leaves nothing in the API server (steps 3 and 4), and can be gone back from", async () => {
        await page.run("3. ");
        await page.run("4. ");
        await installAntreaInGo();
        // its server is not installed
        await kubectl(["delete", "validatingwebhookconfiguration", "crdvalidator.antrea.io"]);
        await page.run("Rollback");
        expect(await kubectl(["get", "ippools.v1beta1.crd.antrea.io", "-o", "name"])).toContain(`/${oldPool}\n`);

        await apply(statefulSet(namespace.name, { name: "db", replicas: 2, annotations: { [poolsKey]: oldPool } }));
        await page.run("3. ");
        await page.run("4. ");
        const left = await kubectl(["get", "crd,apiservices,validatingwebhookconfigurations", "-o", "name"]);
        expect(left).not.toContain("antrea.io");
    });

    it("cleans the Nodes (step 5)", async () => {
        const output = await page.run("5. ");
        expect(output.match(/Nothing of Antrea is left on this Node\./g)).toHaveLength(allNodes.length);
        for (const node of allNodes) {
            const list = `ls /etc/cni/net.d; ls -d /var/lib/antrea /var/run/antrea; ip -o link | grep -E "br-int|antrea"; iptables-save | grep ANTREA; true`;
            expect([node, await shellOnNode(node, `{ ${list}; } 2>/dev/null`)]).toEqual([node, ""]);
        }
    });

    it("is installed, and every Node keeps its podCIDRs (step 6)", async () => {
        await page.run("6. ");
        expect(await podCidrs()).toEqual(before);
    });

    it("gives StatefulSets the addresses that they had, and every Pod a network (steps 7 to 9)", async () => {
        await page.run("7. ");
        await page.run("8. ");
        await rolledOut(namespace.name, "statefulset/db");
        await rolledOut(namespace.name, "deployment/web");
        const pods = await namespace.pods();
        const addressOf = (name: string): string | undefined =>
            pods.find(({ metadata }) => metadata.name === name)?.status.podIPs?.[0]?.ip;
        expect(kept.map((_, ordinal) => addressOf(`db-${ordinal}`))).toEqual(kept);
        const web = pods.filter(({ metadata }) => metadata.name.startsWith("web-"));
        const [client, ...servers] = web;
        for (const { status } of servers) {
            await kubectl([
                "-n",
                namespace.name,
                "exec",
                client?.metadata.name ?? "",
                "--",
                "/agnhost",
                "connect",
                `${status.podIPs?.[0]?.ip}:8080`,
                "--timeout=5s",
            ]);
        }
        await rolledOut(systemNamespace, "deployment/coredns");
        await page.run("9. ");
        const { items } = await getJson<{ items: { metadata: { name: string } }[] }>("crd");
        const definitions = items.map(({ metadata }) => metadata.name).filter((name) => name.endsWith(".antrea.io"));
        expect(definitions.sort()).toEqual([...ownDefinitions].sort());
    });
});
