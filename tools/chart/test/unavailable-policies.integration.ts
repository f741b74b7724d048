import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { TestApiServer } from "@antrea/kube/testing";
import { render, run } from "./render.ts";

/** Kinds that a cluster may have of Antrea: what its chart installed stays when the chart goes. */
const leftOver = [
    ["crd.antrea.io", "v1beta1", "ClusterNetworkPolicy", "clusternetworkpolicies"],
    ["crd.antrea.io", "v1beta1", "NetworkPolicy", "networkpolicies"],
    ["crd.antrea.io", "v1beta1", "Tier", "tiers"],
    ["crd.antrea.io", "v1beta1", "Egress", "egresses"],
    ["crd.antrea.io", "v1beta1", "ExternalIPPool", "externalippools"],
    ["crd.antrea.io", "v1beta1", "Traceflow", "traceflows"],
    ["crd.antrea.io", "v1alpha1", "BGPPolicy", "bgppolicies"],
    ["crd.antrea.io", "v1alpha2", "TrafficControl", "trafficcontrols"],
    ["multicluster.crd.antrea.io", "v1alpha1", "Gateway", "gateways"],
    ["policy.networking.k8s.io", "v1alpha1", "AdminNetworkPolicy", "adminnetworkpolicies"],
] as const;

function definition([group, version, kind, plural]: (typeof leftOver)[number]): object {
    const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
    const approved = "https://github.com/kubernetes-sigs/network-policy-api/pull/30";
    return {
        apiVersion: "apiextensions.k8s.io/v1",
        kind: "CustomResourceDefinition",
        metadata: { name: `${plural}.${group}`, annotations: { "api-approved.kubernetes.io": approved } },
        spec: {
            group,
            scope: "Cluster",
            names: { kind, plural, singular: kind.toLowerCase() },
            versions: [{ name: version, served: true, storage: true, schema }],
        },
    };
}

describe("an object that nothing serves", () => {
    let server: TestApiServer;
    let folder: string;
    let count = 0;

    /** What `kubectl apply` prints of it. */
    const applied = async (object: object): Promise<{ readonly stdout: string; readonly stderr: string }> => {
        const file = join(folder, `${(count += 1)}.json`);
        writeFileSync(file, JSON.stringify(object));
        return run("kubectl", ["--kubeconfig", server.kubeconfig(), "apply", "-f", file]);
    };

    beforeAll(async () => {
        folder = await mkdtemp(join(tmpdir(), "unavailable-"));
        server = await TestApiServer.start();
        await server.apply(leftOver.map(definition));
        const kinds = ["CustomResourceDefinition", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"];
        await server.apply((await render()).filter(({ kind }) => kinds.includes(kind)));
    });
    afterAll(async () => {
        await server.stop();
        await rm(folder, { recursive: true });
    });

    it("is a NetworkPolicy: it is accepted, and who writes it is warned, each time", async () => {
        const policy = (podSelector: object): object => ({
            apiVersion: "networking.k8s.io/v1",
            kind: "NetworkPolicy",
            metadata: { namespace: "default", name: "deny-all" },
            spec: { podSelector, policyTypes: ["Ingress"] },
        });
        const warned = /Warning: .*networkpolicies\.networking\.k8s\.io\/deny-all is not enforced/;
        const created = await applied(policy({}));
        expect(created.stdout).toContain("created");
        expect(created.stderr).toMatch(warned);
        const changed = await applied(policy({ matchLabels: { app: "web" } }));
        expect(changed.stdout).toContain("configured");
        expect(changed.stderr).toMatch(warned);
    });

    it.each(leftOver)("is one of Antrea's or a policy's kinds: %s %s %s", async (group, version, kind, plural) => {
        const object = { apiVersion: `${group}/${version}`, kind, metadata: { name: "one" }, spec: {} };
        const { stdout, stderr } = await applied(object);
        expect(stdout).toContain("created");
        expect(stderr).toContain(`${plural}.${group}/one`);
        expect(stderr).toMatch(/not available in this version of Antrea|is not enforced/);
    });

    it("is an annotation that a feature of Antrea reads elsewhere: who sets it is warned, and nobody later", async () => {
        const service = (annotations: object, port = 80): object => ({
            apiVersion: "v1",
            kind: "Service",
            metadata: { namespace: "default", name: "web", annotations },
            spec: { ports: [{ port }] },
        });
        const mode = "service.antrea.io/load-balancer-mode";
        const known = { "example.test/mine": "yes", "ipam.antrea.io/ippools": "pool1", [mode]: "nat" };
        expect((await applied(service(known))).stderr).toBe("");
        const asked = {
            ...known,
            "nodeportlocal.antrea.io/enabled": "true",
            "service.antrea.io/external-ip-pool": "pool1",
        };
        const { stdout, stderr } = await applied(service(asked));
        expect(stdout).toContain("configured");
        const unread = "(nodeportlocal.antrea.io/enabled|service.antrea.io/external-ip-pool)".replaceAll(
            /[./]/g,
            "\\$&",
        );
        const warning = `services\\/default\\/web: annotations ${unread}, ${unread} have no effect: the feature is not available`;
        expect(stderr).toMatch(new RegExp(`Warning: .*${warning}`));
        expect((await applied(service(asked, 81))).stderr).toBe("");
        expect((await applied(service({ ...asked, "nodeportlocal.antrea.io/enabled": "false" }))).stderr).toMatch(
            /services\/default\/web: annotations nodeportlocal\.antrea\.io\/enabled have no effect/,
        );
        expect((await applied(service(known))).stderr).toBe("");
        expect((await applied(service({ ...known, [mode]: "dsr" }))).stderr).toContain(
            `services/default/web: annotations ${mode} have no effect`,
        );
    });

    it.each([
        ["Namespace", "namespaces", "networkpolicy.antrea.io/enable-logging"],
        ["Node", "nodes", "node.antrea.io/max-egress-ips"],
    ])("is an annotation of a %s", async (kind, plural, key) => {
        const named = { apiVersion: "v1", kind, metadata: { name: "one", annotations: { [key]: "true" } } };
        const { stderr } = await applied(named);
        expect(stderr).toContain(`${plural}/one: annotations ${key} have no effect`);
    });

    it("is no IPPool and no allocation", async () => {
        const range = { cidr: "10.2.0.0/24", gateway: "10.2.0.1", prefixLength: 24 };
        const pool = {
            apiVersion: "crd.antrea.io/v1alpha2",
            kind: "IPPool",
            metadata: { name: "pool1" },
            spec: { ipVersion: 4, ipRanges: [range] },
        };
        const { stdout, stderr } = await applied(pool);
        expect(stdout).toContain("created");
        expect(stderr).toBe("");
    });
});
