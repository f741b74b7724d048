import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { Agent as HttpAgent, type OutgoingHttpHeaders } from "node:http";
import { Agent as HttpsAgent, type RequestOptions } from "node:https";
import { KubeConfig } from "@kubernetes/client-node/dist/config.js";
import { messageOf } from "@antrea/errors";
import { KubeError } from "../errors.ts";
import { readKubeconfig, useContext } from "./kubeconfig.ts";

/**
 * Address, authentication headers and HTTP agents for requests to the API server. Get it anew for each use, as
 * credentials are rotated; its agents are closed by their owner, Credentials.
 */
export interface Connection {
    /** URL of the API server. */
    readonly server: URL;
    /** Headers that authenticate the requests. */
    readonly headers: OutgoingHttpHeaders;
    /** For requests that end; its number of sockets is limited. */
    readonly agent: HttpAgent;
    /** For watches, which occupy their connection: no limit of sockets. */
    readonly streamAgent: HttpAgent;
}

/** Options of Credentials: where address and credentials of the API server come from. */
export interface CredentialOptions {
    /**
     * Path of a kubeconfig, or paths that are merged as {@link readKubeconfig} does. Absent or empty: the Pod's service
     * account.
     */
    readonly kubeconfig?: string | readonly string[] | undefined;
    /** Name of the kubeconfig context. Absent or empty: its current one. */
    readonly context?: string | undefined;
    /**
     * `host`, `host:port` or URL that replaces the server's address; default https, 443 (http: 80). An IPv6 address
     * without port may lack its brackets. Absent or empty: none.
     */
    readonly apiServerOverride?: string | undefined;
    /** Limit of connections for requests that end; further requests wait. Default 32. */
    readonly maxConnections?: number | undefined;
}

const serviceAccountNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";
// Tokens and certificates are rotated in their files: these are read again at this interval.
const rereadMs = 30_000;

/**
 * Address and credentials of the API server, from a kubeconfig or the Pod's service account; made by `load`, closed by
 * its owner. Files are read again, and a credential plugin of the kubeconfig is run again, every 30 s, as credentials
 * are rotated; while that fails, the last ones stay in use.
 */
export class Credentials {
    readonly #config: KubeConfig;
    readonly #maxConnections: number;
    #current: Connection | undefined;
    /** Connections of earlier credentials that may still be in use. */
    readonly #replaced = new Set<Connection>();
    #reading: Promise<Connection> | undefined;
    #identity = "";
    #readAt = 0;

    private constructor(config: KubeConfig, maxConnections: number) {
        this.#config = config;
        this.#maxConnections = maxConnections;
    }

    /** Reads the configuration; sends nothing. Throws KubeError BAD_CONFIG, whose message names what is missing. */
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

    /** Namespace of the kubeconfig's context, else of the Pod; undefined if unknown. */
    get namespace(): string | undefined {
        const namespace = this.#config.getContextObject(this.#config.currentContext)?.namespace;
        if (namespace !== undefined && namespace !== "") return namespace;
        try {
            return readFileSync(serviceAccountNamespace, "utf8").trim() || undefined;
        } catch {
            return undefined;
        }
    }

    /**
     * Returns the current connection, after reading the credentials again if they are older than 30 s or were refused.
     * Rejects with KubeError BAD_CONFIG if they were never readable.
     */
    async connection(): Promise<Connection> {
        if (this.#current !== undefined && performance.now() - this.#readAt < rereadMs) return this.#current;
        // Concurrent callers share one reading: it may start a credential plugin.
        this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
        return this.#reading;
    }

    async #read(): Promise<Connection> {
        const options: RequestOptions = {};
        try {
            await this.#config.applyToHTTPSOptions(options);
        } catch (cause) {
            // The file may just be replaced: the last valid credentials are used.
            if (this.#current !== undefined) return this.#current;
            throw new KubeError("BAD_CONFIG", `cannot use the API server's credentials: ${messageOf(cause)}`, {
                cause,
            });
        }
        this.#readAt = performance.now();
        return (this.#current = this.#connect(options));
    }

    /** Reports that the server refused the credentials: the next request reads them again. */
    refused(): void {
        this.#readAt = -rereadMs;
    }

    /**
     * Closes all connections, also those of earlier credentials with their watches; a later request opens new ones.
     */
    close(): void {
        if (this.#current !== undefined) this.#replaced.add(this.#current);
        for (const { agent, streamAgent } of this.#replaced) {
            agent.destroy();
            streamAgent.destroy();
        }
        this.#replaced.clear();
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
        // Requests under way end on the old connections; idle ones are closed by the server.
        for (const each of this.#replaced)
            if (!isUsed(each.agent) && !isUsed(each.streamAgent)) this.#replaced.delete(each);
        if (this.#current !== undefined) this.#replaced.add(this.#current);
        this.#identity = identity;
        const proxied = this.#config.getCurrentCluster()?.proxyUrl !== undefined && options.agent instanceof HttpAgent;
        const make = (maxSockets: number): HttpAgent => {
            if (proxied) return options.agent as HttpAgent;
            // Idle connections are closed before the server or a load balancer closes them under a request.
            const common = { keepAlive: true, keepAliveMsecs: 15_000, maxSockets, timeout: 60_000 };
            if (server.protocol === "http:") return new HttpAgent(common);
            const { ca, cert, key, servername, rejectUnauthorized } = options;
            return new HttpsAgent({
                ...common,
                ...(ca === undefined ? {} : { ca }),
                ...(cert === undefined ? {} : { cert }),
                ...(key === undefined ? {} : { key }),
                ...(servername === undefined ? {} : { servername }),
                ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
            });
        };
        return { server, headers, agent: make(this.#maxConnections), streamAgent: make(Infinity) };
    }
}

function isUsed({ sockets, freeSockets, requests }: HttpAgent): boolean {
    return [sockets, freeSockets, requests].some((each) => Object.keys(each).length > 0);
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
        // The error below covers this case.
    }
    throw new KubeError("BAD_CONFIG", `the API server's address "${text}" is no host:port and no http(s) URL`);
}

function digest(options: RequestOptions, server: URL): string {
    const hash = createHash("sha256").update(server.href);
    for (const part of [options.ca, options.cert, options.key]) hash.update("\0").update(String(part ?? ""));
    return hash.update(`\0${options.servername ?? ""}\0${String(options.rejectUnauthorized)}`).digest("base64");
}
