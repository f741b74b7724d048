import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { Agent as HttpAgent, type OutgoingHttpHeaders } from "node:http";
import { Agent as HttpsAgent, type RequestOptions } from "node:https";
import { KubeConfig } from "@kubernetes/client-node/dist/config.js";
import { messageOf } from "@antrea/errors";
import { KubeError } from "../errors.ts";
import { readKubeconfig, useContext } from "./kubeconfig.ts";

/** How the next request reaches and convinces the API server. */
export interface Connection {
    readonly server: URL;
    readonly headers: OutgoingHttpHeaders;
    /** For requests that end. */
    readonly agent: HttpAgent;
    /** For watches, which hold their connection: no limit of sockets. */
    readonly streamAgent: HttpAgent;
}

export interface CredentialOptions {
    /** Path of a kubeconfig, or paths to merge as {@link readKubeconfig} does. Default: the Pod's service account. */
    readonly kubeconfig?: string | readonly string[] | undefined;
    /** Name of the context to use. Default: the kubeconfig's current one. */
    readonly context?: string | undefined;
    /** `host:port` or URL that replaces the server's address. Default: none. */
    readonly apiServerOverride?: string | undefined;
    /** Most connections for requests that end; more requests wait. Default 32. */
    readonly maxConnections?: number | undefined;
}

const serviceAccountNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";
// Files of tokens and certificates are rotated under us: they are read again this often.
const rereadMs = 30_000;

/** Address and credentials, read again from their files as they are rotated. */
export class Credentials {
    readonly #config: KubeConfig;
    readonly #maxConnections: number;
    #current: Connection | undefined;
    #reading: Promise<Connection> | undefined;
    #identity = "";
    #readAt = 0;

    private constructor(config: KubeConfig, maxConnections: number) {
        this.#config = config;
        this.#maxConnections = maxConnections;
    }

    /** Reads the configuration; BAD_CONFIG says what is missing. */
    static load(options: CredentialOptions): Credentials {
        const inCluster = options.kubeconfig === undefined || options.kubeconfig.length === 0;
        const config = inCluster ? readServiceAccount() : readKubeconfig(options.kubeconfig);
        if (options.context !== undefined && options.context !== "") useContext(config, options.context);
        const source = inCluster ? "the Pod's service account" : "the kubeconfig";
        const cluster = config.getCurrentCluster();
        if (cluster === null) {
            throw new KubeError("BAD_CONFIG", `${source}: the current context names no cluster; set current-context`);
        }
        if (options.apiServerOverride !== undefined && options.apiServerOverride !== "") {
            const server = serverUrl(options.apiServerOverride).toString().replace(/\/$/, "");
            config.clusters = config.clusters.map((each) => (each.name === cluster.name ? { ...each, server } : each));
        }
        return new Credentials(config, options.maxConnections ?? 32);
    }

    /** The namespace of the kubeconfig's context or of the Pod, where known. */
    get namespace(): string | undefined {
        const namespace = this.#config.getContextObject(this.#config.currentContext)?.namespace;
        if (namespace !== undefined && namespace !== "") return namespace;
        try {
            return readFileSync(serviceAccountNamespace, "utf8").trim() || undefined;
        } catch {
            return undefined;
        }
    }

    async connection(): Promise<Connection> {
        if (this.#current !== undefined && performance.now() - this.#readAt < rereadMs) return this.#current;
        // One reading for all who wait: it may start a credential plugin.
        this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
        return this.#reading;
    }

    async #read(): Promise<Connection> {
        const options: RequestOptions = {};
        try {
            await this.#config.applyToHTTPSOptions(options);
        } catch (cause) {
            // A file that is being replaced: what was valid a moment ago is the better guess.
            if (this.#current !== undefined) return this.#current;
            throw new KubeError("BAD_CONFIG", `cannot use the API server's credentials: ${messageOf(cause)}`, {
                cause,
            });
        }
        this.#readAt = performance.now();
        return (this.#current = this.#connect(options));
    }

    /** The server refused the credentials: the next request reads them again. */
    refused(): void {
        this.#readAt = -rereadMs;
    }

    close(): void {
        this.#current?.agent.destroy();
        this.#current?.streamAgent.destroy();
        this.#current = undefined;
    }

    #connect(options: RequestOptions): Connection {
        const server = serverUrl(this.#config.getCurrentCluster()?.server ?? "");
        const headers: OutgoingHttpHeaders = { ...(options.headers as OutgoingHttpHeaders | undefined) };
        if (typeof options.auth === "string") {
            headers.Authorization = `Basic ${Buffer.from(options.auth).toString("base64")}`;
        }
        const identity = digest(options, server);
        if (this.#current !== undefined && identity === this.#identity) return { ...this.#current, headers };
        // Requests on the old connections end by themselves; idle ones are closed by the server.
        this.#identity = identity;
        const proxied = this.#config.getCurrentCluster()?.proxyUrl !== undefined && options.agent instanceof HttpAgent;
        const make = (maxSockets: number): HttpAgent => {
            if (proxied) return options.agent as HttpAgent;
            // Idle connections go before the server (or a balancer between) closes them under a request.
            const common = { keepAlive: true, keepAliveMsecs: 15_000, maxSockets, timeout: 60_000 };
            if (server.protocol === "http:") return new HttpAgent(common);
            const { ca, cert, key, passphrase, servername, rejectUnauthorized } = options;
            return new HttpsAgent({
                ...common,
                ...(ca === undefined ? {} : { ca }),
                ...(cert === undefined ? {} : { cert }),
                ...(key === undefined ? {} : { key }),
                ...(passphrase === undefined ? {} : { passphrase }),
                ...(servername === undefined ? {} : { servername }),
                ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
            });
        };
        return { server, headers, agent: make(this.#maxConnections), streamAgent: make(Infinity) };
    }
}

function readServiceAccount(): KubeConfig {
    if (process.env.KUBERNETES_SERVICE_HOST === undefined || process.env.KUBERNETES_SERVICE_PORT === undefined) {
        throw new KubeError(
            "BAD_CONFIG",
            "not in a Pod (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set); give a kubeconfig",
        );
    }
    const config = new KubeConfig();
    try {
        config.loadFromCluster();
    } catch (cause) {
        throw new KubeError("BAD_CONFIG", "cannot read the Pod's service account; give a valid kubeconfig", { cause });
    }
    return config;
}

function serverUrl(text: string): URL {
    try {
        const url = new URL(text.includes("://") ? text : `https://${text}`);
        if (url.protocol === "https:" || url.protocol === "http:") return url;
    } catch {
        // Said below.
    }
    throw new KubeError("BAD_CONFIG", `the API server's address "${text}" is no host:port and no https URL`);
}

function digest(options: RequestOptions, server: URL): string {
    const hash = createHash("sha256").update(server.href);
    for (const part of [options.ca, options.cert, options.key]) hash.update("\0").update(String(part ?? ""));
    return hash.update(`\0${options.servername ?? ""}\0${String(options.rejectUnauthorized)}`).digest("base64");
}
