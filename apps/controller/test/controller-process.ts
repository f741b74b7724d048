import { spawn, type ChildProcess } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { request } from "node:https";
import { dirname, join } from "node:path";
import { nodes, type ApiClient } from "@antrea/kube";
import { eventually, freePort, type TestApiServer } from "@antrea/kube/testing";

export interface ControllerOptions {
    /** The Pod's name; also names the configuration file. Default `controller`. */
    readonly name?: string;
    /** As in antrea-controller.conf. Default: NodeIPAM is off. */
    readonly nodeIPAM?: Readonly<Record<string, unknown>>;
    /** More of antrea-controller.conf. */
    readonly config?: Readonly<Record<string, unknown>>;
    /** Default: one on which nothing listens. */
    readonly apiPort?: number;
    /** Path of the Unix socket for probes. Default: none. */
    readonly probeSocket?: string;
    /** Default: the admin. */
    readonly user?: string;
}

const main = new URL("../src/main.ts", import.meta.url).pathname;

/** antrea-controller as a process of its own, run from the sources. */
export class ControllerProcess implements AsyncDisposable {
    /** Where it serves its API. */
    readonly apiPort: number;
    readonly #child: ChildProcess;
    readonly #ended: Promise<number | null>;
    #output = "";

    private constructor(child: ChildProcess, apiPort: number) {
        this.apiPort = apiPort;
        this.#child = child;
        child.stdout?.on("data", (chunk: Buffer) => (this.#output += chunk.toString()));
        child.stderr?.on("data", (chunk: Buffer) => (this.#output += chunk.toString()));
        this.#ended = new Promise((resolve) => child.once("exit", (code) => resolve(code)));
    }

    static async start(
        server: Pick<TestApiServer, "kubeconfig">,
        options: ControllerOptions,
    ): Promise<ControllerProcess> {
        const name = options.name ?? "controller";
        const apiPort = options.apiPort ?? (await freePort());
        const config = {
            clientConnection: { kubeconfig: server.kubeconfig(options.user) },
            apiPort,
            leaderElection: { leaseDuration: "3s", renewDeadline: "2s", retryPeriod: "200ms" },
            ...(options.nodeIPAM && { nodeIPAM: { enableNodeIPAM: true, ...options.nodeIPAM } }),
            ...options.config,
        };
        const path = join(dirname(server.kubeconfig()), `${name}.conf`);
        await writeFile(path, JSON.stringify(config));
        const env = {
            PATH: process.env.PATH,
            POD_NAME: name,
            POD_NAMESPACE: "default",
            ...(options.probeSocket !== undefined && { PROBE_SOCKET: options.probeSocket }),
        };
        const child = spawn(
            "setpriv",
            ["--pdeathsig", "KILL", process.execPath, "--no-warnings", main, "--config", path],
            { env, stdio: ["ignore", "pipe", "pipe"] },
        );
        return new ControllerProcess(child, apiPort);
    }

    get output(): string {
        return this.#output;
    }

    get leading(): boolean {
        return this.#output.includes('"took over the ledger"');
    }

    signal(signal: NodeJS.Signals): void {
        this.#child.kill(signal);
    }

    /** The exit code. */
    async ended(): Promise<number | null> {
        return this.#ended;
    }

    async kill(): Promise<void> {
        this.#child.kill("SIGKILL");
        await this.#ended;
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.kill();
    }
}

/** All podCIDRs by Node. */
export async function podCidrs(api: ApiClient): Promise<ReadonlyMap<string, readonly string[]>> {
    const { items } = await api.list(nodes);
    return new Map(items.map((node) => [node.metadata?.name ?? "", node.spec?.podCIDRs ?? []]));
}

/** Waits until each Node has this many podCIDRs. */
export async function allServed(
    api: ApiClient,
    count: number,
    families: number,
    timeoutMs = 60_000,
): Promise<ReadonlyMap<string, readonly string[]>> {
    const probe = async (): Promise<ReadonlyMap<string, readonly string[]> | false> => {
        const all = await podCidrs(api);
        return all.size === count && [...all.values()].every((cidrs) => cidrs.length === families) && all;
    };
    return eventually(probe, { timeoutMs, what: `${count} Nodes with ${families} podCIDRs each` });
}

/** GET on 127.0.0.1 over HTTPS, whatever the certificate. */
export async function fetchLocal(port: number, path: string, token?: string): Promise<readonly [number, string]> {
    const { promise, resolve, reject } = Promise.withResolvers<readonly [number, string]>();
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    request({ host: "127.0.0.1", port, path, headers, rejectUnauthorized: false, agent: false }, (response) => {
        let body = "";
        response.on("data", (chunk: Buffer) => (body += chunk.toString()));
        response.on("end", () => resolve([response.statusCode ?? 0, body]));
    })
        .on("error", reject)
        .end();
    return promise;
}
