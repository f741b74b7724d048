import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { ipAllocations, ipPools, poolsAnnotation } from "@antrea/crd";
import {
    deployments,
    namespaces,
    nodes,
    replicaSets,
    secrets,
    statefulSets,
    type ApiClient,
    type Resource,
    type StatefulSet,
    type ValidatingWebhookConfiguration,
} from "@antrea/kube";
import { freePorts, TestApiServer, eventually } from "@antrea/kube/testing";
import { allocation } from "@antrea/chart/testing/allocations";
import { outcome } from "@antrea/chart/testing/outcome";
import { render } from "@antrea/chart/testing/render";
import { AuditLog, type AuditedRequest } from "../permissions/audit.ts";
import { callsOf } from "../permissions/calls.ts";
import { modes, sends, type Mode } from "../permissions/modes.ts";
import { type Daemon } from "../programs.ts";
import { DaemonProcess, getLocal } from "./daemon-process.ts";

const namespace = "kube-system";

interface Ports {
    readonly controller: number;
    readonly webhook: number;
}

/** What a run may not come to, with the reason. */
const notSeen: Readonly<Partial<Record<Daemon, readonly string[]>>> = {
    controller: [
        // a reservation is given up when its pool no longer contains the address
        "get ippools.crd.antrea.io",
        // an event that comes again is counted 30 s later, which a run on a slow machine comes to
        "patch events.events.k8s.io",
    ],
};

function text({ verb, group, resource }: Pick<AuditedRequest, "verb" | "group" | "resource">): string {
    return `${verb} ${group === "" ? resource : `${resource}.${group}`}`;
}

/** An API server with what the chart installs in a mode, and the programs with their own accounts on it. */
class Installed implements AsyncDisposable {
    readonly server: TestApiServer;
    readonly api: ApiClient;
    readonly audit: AuditLog;
    readonly ports: Ports;
    readonly #folder = mkdtempSync(join(tmpdir(), "installed-"));

    private constructor(server: TestApiServer, audit: AuditLog, ports: Ports) {
        this.server = server;
        this.audit = audit;
        this.ports = ports;
        this.api = server.clients().api;
    }

    static async start(mode: Mode): Promise<Installed> {
        const manifests = await render(...mode.values.flatMap((value) => ["--set", value]));
        const audit = new AuditLog({ namespace, accounts: ["antrea-agent", "antrea-controller", "antrea-webhook"] });
        const server = await TestApiServer.start({ authorization: "RBAC", args: audit.args, users: ["guest"] });
        // when etcd and the API server have theirs
        const [controller = 0, webhook = 0] = await freePorts(2);
        const workloads = ["DaemonSet", "Deployment", "Service"];
        const installed = manifests.filter(({ kind }) => !workloads.includes(kind));
        await server.apply(installed.map((manifest) => reachable(manifest, webhook)));
        return new Installed(server, audit, { controller, webhook });
    }

    async kubeconfig(daemon: Daemon): Promise<string> {
        return this.server.kubeconfig(await this.server.addServiceAccountUser({ namespace, name: `antrea-${daemon}` }));
    }

    /** The token that the program has. */
    async token(daemon: Daemon): Promise<string> {
        const path = this.server.kubeconfig(`${namespace}_antrea-${daemon}`);
        const { users } = JSON.parse(await readFile(path, "utf8")) as {
            readonly users: readonly { readonly user: { readonly token: string } }[];
        };
        return users[0]?.user.token ?? "";
    }

    async controller(config: Readonly<Record<string, unknown>>): Promise<DaemonProcess> {
        const path = join(this.#folder, "controller.conf");
        const whole = {
            clientConnection: { kubeconfig: await this.kubeconfig("controller") },
            apiPort: this.ports.controller,
            // Nobody takes over, and each request of the Lease that takes longer than half of the deadline is a warning.
            leaderElection: { leaseDuration: "60s", renewDeadline: "40s", retryPeriod: "200ms" },
            ...config,
        };
        writeFileSync(path, JSON.stringify(whole));
        return new DaemonProcess("controller", ["--config", path, "--v=4"]);
    }

    async webhook(): Promise<DaemonProcess> {
        const args = [`--port=${this.ports.webhook}`, "--kubeconfig", await this.kubeconfig("webhook"), "--v=4"];
        return new DaemonProcess("webhook", args);
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.server.stop();
        this.audit[Symbol.dispose]();
        rmSync(this.#folder, { recursive: true, force: true });
    }
}

/** There is no Service network: the webhooks are reached by their URL. */
function reachable<T extends { readonly kind: string }>(manifest: T, port: number): T {
    if (manifest.kind !== "ValidatingWebhookConfiguration") return manifest;
    const { webhooks = [] } = manifest as ValidatingWebhookConfiguration & T;
    const changed = webhooks.map(({ clientConfig, ...webhook }) => ({
        ...webhook,
        clientConfig: { url: `https://127.0.0.1:${port}${clientConfig.service?.path ?? ""}` },
    }));
    return { ...manifest, webhooks: changed };
}

/** Everything asked was granted and is known from the sources; everything granted was asked, `notSeen` excepted. */
async function expectExact(daemon: Daemon, mode: Mode, audited: readonly AuditedRequest[]): Promise<void> {
    const asked = audited.filter(({ account }) => account === `antrea-${daemon}`);
    expect(asked.filter(({ code }) => code === 401 || code === 403)).toEqual([]);
    const calls = (await callsOf([daemon])).get(daemon)?.calls ?? [];
    const known = new Set(calls.filter((call) => sends(daemon, call, mode)).map(text));
    const seen = new Set(asked.map(text));
    expect([...seen].filter((one) => !known.has(one))).toEqual([]);
    const unseen = [...known].filter((one) => !seen.has(one));
    const excepted = notSeen[daemon] ?? [];
    expect(unseen.filter((one) => !excepted.includes(one))).toEqual([]);
    const inSources = new Set(calls.map(text));
    expect(excepted.filter((one) => !inSources.has(one))).toEqual([]);
}

async function readMetrics(port: number): Promise<void> {
    expect(await getLocal(port, "/metrics")).toMatchObject({ status: 401 });
    expect(await getLocal(port, "/metrics", "token-guest")).toMatchObject({ status: 403 });
    expect(await getLocal(port, "/metrics", "token-admin")).toMatchObject({ status: 200 });
}

function template(annotations: Readonly<Record<string, string>>) {
    const labels = { app: "a" };
    return {
        selector: { matchLabels: labels },
        template: { metadata: { labels, annotations }, spec: { containers: [{ name: "c", image: "i" }] } },
    };
}

describe("with the rights that the chart gives them, and no others", () => {
    const mode = modes.find((one) => one.ipam && one.nodeIpam)!;
    let installed: Installed;
    let api: ApiClient;

    beforeAll(async () => {
        installed = await Installed.start(mode);
        ({ api } = installed);
    });
    afterAll(() => installed[Symbol.asyncDispose]());

    it("controller and webhook do all of their work", async () => {
        await using webhook = await installed.webhook();
        await eventually(async () => (await getLocal(installed.ports.webhook, "/readyz")).status === 200, {
            timeoutMs: 60_000,
            what: "the webhook is ready",
        });
        const nodeIPAM = { enableNodeIPAM: true, clusterCIDRs: ["10.244.0.0/30"], nodeCIDRMaskSizeIPv4: 30 };
        await using controller = await installed.controller({ featureGates: { AntreaIPAM: true }, nodeIPAM });
        const range = { start: "10.4.0.10", end: "10.4.0.29", gateway: "10.4.0.1", prefixLength: 24 };
        await api.create(ipPools, { metadata: { name: "a" }, spec: { ipVersion: 4, ipRanges: [range] } });
        // one Node gets the one podCIDR that there is, and an event reports why the other gets none
        for (const name of ["node1", "node2"]) await installed.server.addNode(name, { internalIps: ["10.4.0.12"] });
        await eventually(async () => (await api.list(nodes)).items.some(({ spec }) => spec?.podCIDR !== undefined));
        // a StatefulSet, of a Namespace with pools; scaled, and deleted
        const annotations = { [poolsAnnotation]: "a" };
        await api.create(namespaces, { metadata: { name: "shop", annotations } });
        const set = { metadata: { namespace: "shop", name: "db" }, spec: { replicas: 2, ...template({}) } };
        await api.create(statefulSets as Resource<StatefulSet>, set as StatefulSet);
        const reserved = async (): Promise<number> =>
            (await api.list(ipAllocations)).items.filter(({ spec }) => spec.owner.kind === "StatefulSet").length;
        await eventually(async () => (await reserved()) === 2, { what: "reservations" });
        // allocations of a Node that is out of service: a Pod's is freed, an ordinal's is kept for the set
        await api.create(ipAllocations, { ...allocation("10.4.0.20"), spec: specOf("10.4.0.20", "node1") });
        const ordinal = (await api.list(ipAllocations)).items.find(({ spec }) => spec.owner.index === 0)!;
        const used = {
            ...allocation("10.4.0.20").spec.pod!,
            namespace: "shop",
            name: "db-0",
            uid: "gone",
            nodeName: "node1",
        };
        await api.update(ipAllocations, { ...ordinal, spec: { ...ordinal.spec, state: "Allocated", pod: used } });
        const taints = [{ key: "node.kubernetes.io/out-of-service", effect: "NoExecute" }];
        await api.patch(nodes, { name: "node1" }, { type: "merge", body: { spec: { taints } } });
        await eventually(async () => (await api.find(ipAllocations, { name: "10.4.0.20" })) === undefined, {
            what: "the allocation of a Node that is out of service is freed",
        });
        await eventually(
            async () => (await api.get(ipAllocations, { name: ordinal.spec.address })).spec.state === "Reserved",
            { what: "the allocation of an ordinal is kept for it" },
        );
        await api.patch(
            statefulSets,
            { namespace: "shop", name: "db" },
            { type: "merge", body: { spec: { replicas: 1 } } },
        );
        await eventually(async () => (await reserved()) === 1, { what: "the ordinal that is not wanted is freed" });
        await eventually(async () => (await api.get(ipPools, { name: "a" })).status?.usage !== undefined, {
            what: "the status of the pool",
        });
        // what the webhook refuses, it has checked as it is stored
        const moved = { spec: { ipRanges: [{ ...range, gateway: "10.4.0.11" }] } };
        expect(await outcome(api.patch(ipPools, { name: "a" }, { type: "merge", body: moved }))).not.toBe("ok");
        const shrunk = { spec: { ipRanges: [{ ...range, end: "10.4.0.28" }] } };
        expect(await outcome(api.patch(ipPools, { name: "a" }, { type: "merge", body: shrunk }))).not.toBe("ok");
        const overlapping = { metadata: { name: "b" }, spec: { ipVersion: 4, ipRanges: [range] } } as const;
        expect(await outcome(api.create(ipPools, overlapping))).not.toBe("ok");
        const wrong = template({ [poolsAnnotation]: "a", "ipam.antrea.io/pod-ips": "10.4.0.1" });
        for (const resource of [deployments, statefulSets]) {
            const object = { metadata: { namespace: "shop", name: "wrong" }, spec: wrong };
            expect(await outcome(api.create(resource as Resource<StatefulSet>, object as StatefulSet))).not.toBe("ok");
        }
        for (const [plural, resource] of [
            ["deployments", deployments] as const,
            ["statefulsets", statefulSets] as const,
            ["replicasets", replicaSets] as const,
        ]) {
            const fixed = template({ [poolsAnnotation]: "a", "ipam.antrea.io/pod-ips": "10.4.0.15" });
            const object = { metadata: { namespace: "shop", name: "fixed" }, spec: { replicas: 1, ...fixed } };
            await api.create(resource as Resource<StatefulSet>, object as StatefulSet);
            const path = `/apis/apps/v1/namespaces/shop/${plural}/fixed/scale`;
            const scale = { apiVersion: "autoscaling/v1", kind: "Scale", spec: { replicas: 5 } };
            const body = JSON.stringify({ ...scale, metadata: { namespace: "shop", name: "fixed" } });
            await outcome(api.request({ method: "PUT", path, body }));
        }
        expect(await outcome(api.delete(ipPools, { name: "a" }))).toContain("10.4.0.");
        await api.delete(statefulSets, { namespace: "shop", name: "db" });
        await eventually(async () => (await reserved()) <= 1, { what: "reservations are freed" });
        for (const port of Object.values(installed.ports)) await readMetrics(port);
        // a person asks for a new authority
        await api.delete(secrets, { namespace, name: "antrea-webhook-ca" });
        await eventually(async () => (await api.find(secrets, { namespace, name: "antrea-webhook-ca" })) !== undefined);
        await api.patch(secrets, { namespace, name: "antrea-webhook-ca" }, { type: "merge", body: { data: null } });
        await eventually(
            async () => (await api.get(secrets, { namespace, name: "antrea-webhook-ca" })).data !== undefined,
        );
        const { data = {} } = await api.get(secrets, { namespace, name: "antrea-webhook-ca" });
        expect([await controller.stop(), await webhook.stop()]).toEqual([0, 0]);
        const output = controller.output + webhook.output;
        expect(output).not.toMatch(/FORBIDDEN/);
        // at the most verbose level: no token that they have or were shown, no key
        const key = Buffer.from(data["ca.key"] ?? "", "base64").toString();
        expect(key).toContain("PRIVATE KEY");
        const tokens = await Promise.all((["controller", "webhook"] as const).map((one) => installed.token(one)));
        const lines = key.split("\n").filter((line) => line.length > 20 && !line.startsWith("-----"));
        for (const secret of [...tokens, ...lines, data["ca.key"]?.slice(80, 120), "token-guest", "token-admin"]) {
            expect(secret?.length).toBeGreaterThan(10);
            expect(output).not.toContain(secret);
        }
        expect(output).not.toContain("PRIVATE KEY");
        const audited = installed.audit.requests();
        await expectExact("controller", mode, audited);
        await expectExact("webhook", mode, audited);
    });
});

describe("without IPAM of any kind", () => {
    it("the controller leads, and needs nothing else", async () => {
        const mode = modes.find((one) => !one.ipam && !one.nodeIpam)!;
        await using installed = await Installed.start(mode);
        await using controller = await installed.controller({});
        await eventually(() => controller.output.includes('"leading"'), { timeoutMs: 60_000 });
        await readMetrics(installed.ports.controller);
        expect(await controller.stop()).toBe(0);
        expect(controller.output).not.toMatch(/"level":"(warn|error)"/);
        await expectExact("controller", mode, installed.audit.requests());
    });
});

function specOf(address: string, nodeName: string) {
    const { spec } = allocation(address);
    return { ...spec, pool: "a", pod: { ...spec.pod!, nodeName } };
}
