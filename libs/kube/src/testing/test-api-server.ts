import { generateKeyPairSync } from "node:crypto";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { namespaces, nodes } from "../api/resources.ts";
import { type KubeObject, type Namespace, type Node } from "../api/types.ts";
import { createKubeClients, type KubeClients } from "../clients.ts";
import { applyObjects } from "./apply.ts";
import { Program, TestApiServerError, freePorts, programPath } from "./programs.ts";

/** Options of TestApiServer: authorization, Service CIDRs, users and further options of kube-apiserver. */
export interface TestApiServerOptions {
    /** Authorization mode. Default `AlwaysAllow`. With `RBAC` only the user "admin" may do everything. */
    readonly authorization?: "AlwaysAllow" | "RBAC";
    /** `--service-cluster-ip-range`. Default `10.96.0.0/16,fd00:10:96::/112`. */
    readonly serviceCidrs?: string;
    /** Users with a token each, besides "admin"; the token is `token-NAME`. Default: none. */
    readonly users?: readonly string[];
    /** Further command line options of kube-apiserver. */
    readonly args?: readonly string[];
}

/** Options of `addNode`; what is absent is not set. */
export interface TestNodeOptions {
    readonly podCidrs?: readonly string[];
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    /** `status.addresses` of type InternalIP. */
    readonly internalIps?: readonly string[];
}

/**
 * An etcd and a kube-apiserver for one test, on loopback ports, in a new folder. There are no controllers and no
 * kubelet: objects are what the test writes. Both programs end on disposal, and with the test runner.
 */
export class TestApiServer implements AsyncDisposable {
    readonly #folder: string;
    readonly #options: TestApiServerOptions;
    readonly #ports: readonly [etcd: number, peer: number, api: number];
    readonly #clients: KubeClients[] = [];
    #adminClients: KubeClients | undefined;
    #etcd: Program | undefined;
    #server: Program | undefined;

    private constructor(folder: string, options: TestApiServerOptions, ports: readonly [number, number, number]) {
        this.#folder = folder;
        this.#options = options;
        this.#ports = ports;
    }

    /** Starts both programs; resolves when they serve, after about three seconds. Rejects with TestApiServerError. */
    static async start(options: TestApiServerOptions = {}): Promise<TestApiServer> {
        programPath("etcd");
        programPath("kube-apiserver");
        const [etcd = 0, peer = 0, api = 0] = await freePorts(3);
        const folder = await mkdtemp(join(tmpdir(), "api-"));
        const server = new TestApiServer(folder, options, [etcd, peer, api]);
        try {
            await server.#writeFiles();
            server.#startEtcd();
            await server.startApiServer();
            return server;
        } catch (error) {
            await server.stop();
            throw error;
        }
    }

    /** URL of kube-apiserver. */
    get url(): string {
        return `https://127.0.0.1:${this.#ports[2]}`;
    }

    /**
     * Returns the path of a kubeconfig for this user: "admin" (default) of group system:masters, one of `users`, or one
     * of `addServiceAccountUser`.
     */
    kubeconfig(user = "admin"): string {
        return join(this.#folder, `${user}.kubeconfig`);
    }

    /** Returns clients of this user, which are closed with the server. */
    clients(user = "admin"): KubeClients {
        const clients = createKubeClients({ kubeconfig: this.kubeconfig(user), userAgent: `test-${user}/0` });
        this.#clients.push(clients);
        return clients;
    }

    /** Starts kube-apiserver if it is not running; resolves when it is ready. */
    async startApiServer(): Promise<void> {
        this.#server ??= new Program("kube-apiserver", programPath("kube-apiserver"), this.#serverArgs());
        await this.#ready();
    }

    /** Kills kube-apiserver (SIGKILL): connections break, etcd keeps its data. */
    async stopApiServer(): Promise<void> {
        await this.#server?.kill();
        this.#server = undefined;
    }

    /** Kills kube-apiserver and starts it again. */
    async restart(): Promise<void> {
        await this.stopApiServer();
        await this.startApiServer();
    }

    /** Suspends kube-apiserver (SIGSTOP): connections stay open and nothing answers. */
    pause(): void {
        this.#server?.signal("SIGSTOP");
    }

    /** Continues kube-apiserver after `pause`. */
    resume(): void {
        this.#server?.signal("SIGCONT");
    }

    /** Saves the data of etcd for `restoreBackup`; kube-apiserver is down meanwhile. */
    async backUp(): Promise<void> {
        await this.#withoutPrograms(() => cp(this.#path("etcd"), this.#path("backup"), { recursive: true }));
    }

    /**
     * Restores the data of etcd as of `backUp`, with its versions: they grow from there again, so a version seen before
     * the restore may occur a second time, for another state.
     */
    async restoreBackup(): Promise<void> {
        await this.#withoutPrograms(async () => {
            await rm(this.#path("etcd"), { recursive: true });
            await cp(this.#path("backup"), this.#path("etcd"), { recursive: true });
        });
    }

    /** Creates a Node object, and returns it as stored. */
    async addNode(name: string, options: TestNodeOptions = {}): Promise<Node> {
        const { podCidrs, labels, annotations, internalIps } = options;
        const api = this.#admin;
        const node = await api.create(nodes, {
            metadata: { name, ...(labels && { labels }), ...(annotations && { annotations }) },
            ...(podCidrs?.[0] === undefined ? {} : { spec: { podCIDR: podCidrs[0], podCIDRs: podCidrs } }),
        });
        if (internalIps === undefined) return node;
        const addresses = internalIps.map((address) => ({ type: "InternalIP", address }));
        const patch = { type: "merge", body: { status: { addresses } } } as const;
        return api.patch(nodes, { name }, patch, { subresource: "status" });
    }

    /** Deletes a Node object. */
    async deleteNode(name: string): Promise<void> {
        await this.#admin.delete(nodes, { name });
    }

    /** Creates a Namespace, and returns it as stored. */
    async addNamespace(name: string): Promise<Namespace> {
        return this.#admin.create(namespaces, { metadata: { name } });
    }

    /**
     * Applies objects of any kind in order, whatever existed before. Resolves when resource definitions are served and
     * admission policies are in force.
     */
    async apply(objects: readonly KubeObject[]): Promise<void> {
        await applyObjects(this.#admin, objects);
    }

    /**
     * Creates a user whose token is that of a ServiceAccount, and returns its name for `clients`. With `pod` the token
     * is bound to that Pod, as tokens in Pods are, and so carries its Node too. Both must exist.
     */
    async addServiceAccountUser(
        account: { readonly namespace: string; readonly name: string },
        pod?: { readonly name: string; readonly uid?: string | undefined },
    ): Promise<string> {
        const path = `/api/v1/namespaces/${account.namespace}/serviceaccounts/${account.name}/token`;
        const boundObjectRef = pod && { apiVersion: "v1", kind: "Pod", name: pod.name, uid: pod.uid };
        const body = JSON.stringify({
            apiVersion: "authentication.k8s.io/v1",
            kind: "TokenRequest",
            spec: { boundObjectRef },
        });
        const answer = await this.#admin.request({ method: "POST", path, body });
        const user = [account.namespace, account.name, ...(pod ? [pod.name] : [])].join("_");
        const { token } = (answer as { readonly status: { readonly token: string } }).status;
        await writeFile(this.kubeconfig(user), JSON.stringify(this.#kubeconfigOf(user, token)));
        return user;
    }

    /** Ends both programs and removes the folder. */
    async stop(): Promise<void> {
        for (const clients of this.#clients) clients.close();
        await this.stopApiServer();
        await this.#etcd?.kill();
        await rm(this.#folder, { recursive: true, force: true });
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.stop();
    }

    get #admin(): KubeClients["api"] {
        return (this.#adminClients ??= this.clients()).api;
    }

    #path(name: string): string {
        return join(this.#folder, name);
    }

    async #withoutPrograms(work: () => Promise<void>): Promise<void> {
        await this.stopApiServer();
        await this.#etcd?.kill();
        await work();
        this.#startEtcd();
        await this.startApiServer();
    }

    #startEtcd(): void {
        const [client, peer] = this.#ports;
        this.#etcd = new Program("etcd", programPath("etcd"), [
            `--data-dir=${this.#path("etcd")}`,
            `--listen-client-urls=http://127.0.0.1:${client}`,
            `--advertise-client-urls=http://127.0.0.1:${client}`,
            `--listen-peer-urls=http://127.0.0.1:${peer}`,
            `--initial-advertise-peer-urls=http://127.0.0.1:${peer}`,
            `--initial-cluster=default=http://127.0.0.1:${peer}`,
            "--unsafe-no-fsync",
            "--log-level=error",
        ]);
    }

    #serverArgs(): readonly string[] {
        const [etcd, , api] = this.#ports;
        return [
            `--etcd-servers=http://127.0.0.1:${etcd}`,
            `--secure-port=${api}`,
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
            `--cert-dir=${this.#path("certs")}`,
            `--token-auth-file=${this.#path("tokens.csv")}`,
            `--authorization-mode=${this.#options.authorization ?? "AlwaysAllow"}`,
            `--service-cluster-ip-range=${this.#options.serviceCidrs ?? "10.96.0.0/16,fd00:10:96::/112"}`,
            `--service-account-key-file=${this.#path("sa.pub")}`,
            `--service-account-signing-key-file=${this.#path("sa.key")}`,
            "--service-account-issuer=https://kubernetes.default.svc",
            "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
            "--shutdown-delay-duration=0s",
            ...(this.#options.args ?? []),
        ];
    }

    async #writeFiles(): Promise<void> {
        await mkdir(this.#path("certs"));
        const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
        await writeFile(this.#path("sa.pub"), publicKey.export({ type: "spki", format: "pem" }));
        await writeFile(this.#path("sa.key"), privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
        const users = [...new Set(["admin", ...(this.#options.users ?? [])])];
        const groups = (user: string): string => (user === "admin" ? ',"system:masters"' : "");
        const tokens = users.map((user) => `token-${user},${user},${user}${groups(user)}\n`);
        await writeFile(this.#path("tokens.csv"), tokens.join(""), { mode: 0o600 });
        for (const user of users) {
            await writeFile(this.kubeconfig(user), JSON.stringify(this.#kubeconfigOf(user, `token-${user}`)));
        }
    }

    // YAML is a superset of JSON.
    #kubeconfigOf(user: string, token: string): unknown {
        const cluster = { server: this.url, "certificate-authority": this.#path("certs/apiserver.crt") };
        return {
            apiVersion: "v1",
            kind: "Config",
            "current-context": "test",
            clusters: [{ name: "test", cluster }],
            users: [{ name: user, user: { token } }],
            contexts: [{ name: "test", context: { cluster: "test", user } }],
        };
    }

    async #ready(): Promise<void> {
        const end = Date.now() + 120_000;
        for (;;) {
            this.#etcd?.check();
            this.#server?.check();
            try {
                // The certificate is written by the server at its first start.
                using clients = createKubeClients({ kubeconfig: this.kubeconfig(), userAgent: "test-ready/0" });
                await clients.api.get(namespaces, { name: "default" }, { timeoutMs: 10_000 });
                return;
            } catch (cause) {
                if (Date.now() > end) {
                    throw new TestApiServerError("NOT_READY", "environment", "kube-apiserver is not ready", { cause });
                }
                await new Promise((resolve) => setTimeout(resolve, 50));
            }
        }
    }
}
