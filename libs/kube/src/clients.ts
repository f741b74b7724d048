import { type Clock } from "@antrea/async";
import { ApiClient } from "./api/client.ts";
import { Credentials, type Connection } from "./api/credentials.ts";

/** Options of `createKubeClients`: where address and credentials of the API server come from, and the user agent. */
export interface KubeClientOptions {
    /** Path of a kubeconfig, or several that are merged as kubectl does. Absent or empty: the Pod's service account. */
    readonly kubeconfig?: string | readonly string[] | undefined;
    /** Name of the context to use. Absent or empty: the kubeconfig's current one. */
    readonly context?: string | undefined;
    /**
     * `host`, `host:port` or URL that replaces the API server's address, an IPv6 address in brackets (`apiServer` in
     * @antrea/settings gives it so). Absent or empty: none.
     */
    readonly apiServerOverride?: string | undefined;
    /** Name and version of the program, for the server's logs and managed fields: `antrea-agent/0.1.0`. */
    readonly userAgent: string;
    /** Limit of connections for requests that end. Default 32. */
    readonly maxConnections?: number | undefined;
}

/** The API client of a program, with its credentials. Disposal closes it. */
export interface KubeClients extends Disposable {
    /** Typed requests to the API server. */
    readonly api: ApiClient;
    /** Namespace of the kubeconfig's context, else of the Pod; undefined if unknown. */
    readonly namespace: string | undefined;
    /**
     * Returns address and credentials for a connection that `api` has no call for. Call it for each connection, as
     * credentials are rotated. Rejects with KubeError BAD_CONFIG.
     */
    connection(): Promise<Connection>;
    /**
     * Closes all connections, watches included; requests under way reject with CONNECTION_FAILED. Idempotent; a later
     * request opens new ones.
     */
    close(): void;
}

/**
 * Reads the configuration and returns clients, which the caller closes; sends nothing. Throws KubeError BAD_CONFIG,
 * whose message names what is missing. `clock` as in ApiClientComponents.
 */
export function createKubeClients(
    options: KubeClientOptions,
    components: { readonly clock?: Clock } = {},
): KubeClients {
    const credentials = Credentials.load(options);
    const api = new ApiClient({ ...components, credentials }, { userAgent: options.userAgent });
    const close = (): void => credentials.close();
    const connection = (): Promise<Connection> => credentials.connection();
    return { api, namespace: credentials.namespace, connection, close, [Symbol.dispose]: close };
}
