import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "@jest/globals";
import { customResourceDefinitions } from "@antrea/crd/schema";
import { secrets } from "@antrea/kube";
import { TestApiServer, eventually, freePort, networkDefinitionsCrd } from "@antrea/kube/testing";
import { admissionObjects, rightsOf } from "./support/configuration.ts";
import { KubeRequests } from "./support/kube-request.ts";
import { paths, podOf, annotated, networkOf, poolOf, requesting } from "./support/objects.ts";

const main = new URL("../src/main.ts", import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), "webhook-"));
afterAll(() => rmSync(folder, { recursive: true }));

class WebhookProcess implements AsyncDisposable {
    readonly #child: ChildProcess;
    readonly ended: Promise<number | null>;
    output = "";

    constructor(...args: readonly string[]) {
        const env = { PATH: process.env.PATH, POD_NAMESPACE: "kube-system", POD_NAME: "antrea-webhook-1" };
        const command = ["--pdeathsig", "KILL", process.execPath, "--no-warnings", main, ...args];
        this.#child = spawn("setpriv", command, { env, stdio: ["ignore", "pipe", "pipe"] });
        const keep = (chunk: Buffer): void => void (this.output += chunk.toString());
        this.#child.stdout?.on("data", keep);
        this.#child.stderr?.on("data", keep);
        this.ended = new Promise((resolve) => this.#child.once("exit", (code) => resolve(code)));
    }

    signal(signal: NodeJS.Signals): void {
        this.#child.kill(signal);
    }

    async [Symbol.asyncDispose](): Promise<void> {
        this.#child.kill("SIGKILL");
        await this.ended;
    }
}

async function get(port: number, path: string, token?: string): Promise<{ status: number; text: string }> {
    const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    request({ host: "127.0.0.1", port, path, headers, rejectUnauthorized: false, agent: false }, (response) => {
        let text = "";
        response.on("data", (chunk: Buffer) => (text += chunk.toString()));
        response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
    })
        .on("error", reject)
        .end();
    return promise;
}

describe("antrea-webhook", () => {
    it("works with the rights that the chart gives it, reports its health, and ends in order", async () => {
        await using server = await TestApiServer.start({ authorization: "RBAC", users: ["webhook", "guest"] });
        const port = await freePort();
        const { api } = server.clients();
        await server.apply([
            ...customResourceDefinitions(),
            networkDefinitionsCrd,
            ...(await rightsOf("webhook")),
            ...(await admissionObjects(`https://127.0.0.1:${port}`)),
        ]);
        using requests = new KubeRequests(server);
        const config = join(folder, "antrea-controller.conf");
        writeFileSync(config, JSON.stringify({ featureGates: { AntreaIPAM: true, SecondaryNetwork: true } }));
        await using webhook = new WebhookProcess(
            `--config=${config}`,
            `--port=${port}`,
            "--kubeconfig",
            server.kubeconfig("webhook"),
            "--v=1",
        );
        const early = await eventually(async () => {
            const answer = await get(port, "/readyz");
            return answer.status === 503 && answer.text.includes("not trusted for long enough") && answer;
        });
        expect(early.text).toContain("[+]cluster ok");
        await eventually(async () => (await get(port, "/readyz")).status === 200);
        expect((await get(port, "/readyz?verbose")).text).toMatch(
            /\nreadyz check passed\njob certificates: succeeded at \S+Z; (running|next run at \S+Z)\n$/,
        );
        expect(await get(port, "/livez")).toEqual({ status: 200, text: "ok\n" });

        const range = { cidr: "10.1.0.0/28", gateway: "10.1.0.1", prefixLength: 24 };
        const pool = poolOf("one", range);
        const created = await requests.send("POST", paths.pools, pool);
        expect(created).toMatchObject({ status: 201 });
        expect(await requests.send("POST", paths.pools, { ...pool, metadata: { name: "two" } })).toMatchObject({
            status: 422,
        });
        const pod = podOf("p", annotated("one", "10.1.0.1"));
        expect(await requests.send("POST", paths.pods("default"), pod)).toMatchObject({ status: 422 });
        const requested = podOf("p", requesting("net1@eth0"));
        expect(await requests.send("POST", paths.pods("default"), requested)).toMatchObject({ status: 422 });
        // Networks are listed for a pool that shrinks.
        const ipam = { type: "antrea", ippools: ["one"] };
        const network = { cniVersion: "0.3.0", type: "antrea", networkType: "vlan", ipam };
        for (const [vlan, status] of [[5000, 422] as const, [100, 201] as const]) {
            const answer = await requests.send(
                "POST",
                paths.networks("default"),
                networkOf("net1", { ...network, vlan }),
            );
            expect(answer).toMatchObject({ status });
        }
        const shrunk = { spec: { ipRanges: [{ ...range, cidr: "10.1.0.0/29" }] } };
        const merge = { contentType: "application/merge-patch+json" };
        expect(await requests.send("PATCH", `${paths.pools}/one`, shrunk, merge)).toMatchObject({
            status: 422,
            message: expect.stringContaining("named by NetworkAttachmentDefinition default/net1"),
        });
        // Allocations are searched, too. With the version, since without the API server may ask about an older one first.
        const { resourceVersion } = created.body.metadata as { readonly resourceVersion: string };
        const options = { apiVersion: "v1", kind: "DeleteOptions", preconditions: { resourceVersion } };
        expect(await requests.send("DELETE", `${paths.pools}/one`, options)).toMatchObject({ status: 200 });

        expect(await get(port, "/metrics", "token-guest")).toMatchObject({ status: 403 });
        const { status, text } = await get(port, "/metrics", "token-admin");
        expect(status).toBe(200);
        expect(text).toMatch(/requests_total\{webhook="ippools",kind="IPPool",operation="CREATE",allowed="false"\} 1/);
        expect(text).toMatch(/requests_total\{webhook="workloads",kind="Pod",operation="CREATE",allowed="false"\} 2/);
        expect(text).toMatch(
            /requests_total\{webhook="networks",kind="NetworkAttachmentDefinition",operation="CREATE",allowed="false"\} 1/,
        );
        expect(text).toMatch(/antrea_webhook_request_duration_seconds_count\{webhook="ippools"\} 4/);
        for (const certificate of ["authority", "serving"]) {
            expect(text).toContain(`antrea_webhook_certificate_expiry_timestamp_seconds{certificate="${certificate}"}`);
        }
        const secret = await api.get(secrets, { namespace: "kube-system", name: "antrea-webhook-ca" });
        expect(Object.keys(secret.data ?? {}).sort()).toEqual(["ca.crt", "ca.key", "previous.crt"]);

        webhook.signal("SIGTERM");
        await eventually(async () => (await get(port, "/readyz")).text.includes("[-]leaving failed"));
        expect(await webhook.ended).toBe(0);
        expect(webhook.output).not.toMatch(/"level":"(warn|error)".*(FORBIDDEN|could not|failed: )/);
        expect(webhook.output).not.toContain("BEGIN");
    });

    it.each([
        [["--port", "70000"], /--port \\"70000\\": must be a number from 1 to 65535/],
        [["--configuration", "x"], /known are --config FILE, --port N, --kubeconfig FILE, --kube-apiserver ADDRESS/],
        [
            ["--kube-apiserver", "ftp://x"],
            /--kube-apiserver \\"ftp:\/\/x\\": must be a host, host:port or http\(s\) URL/,
        ],
        [["--config", "/nowhere"], /cannot read --config \/nowhere/],
    ])("does not start with %j", async (args, text) => {
        await using webhook = new WebhookProcess(
            ...args,
            ...(args[0] === "--configuration" ? [] : ["--kubeconfig", kubeconfig]),
        );
        expect(await webhook.ended).toBe(1);
        expect(webhook.output).toMatch(text);
    });
});

const kubeconfig = new URL("support/no-server.kubeconfig", import.meta.url).pathname;
