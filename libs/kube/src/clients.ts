import { type Clock } from "@antrea/async";
import { ApiClient } from "./api/client.ts";
import { Credentials, type Connection } from "./api/credentials.ts";

export interface KubeClientOptions {
    /** Path of a kubeconfig, or several that are merged as kubectl does. Default: the Pod's service account. */
    readonly kubeconfig?: string | readonly string[] | undefined;
    /** Name of the context to use. Default: the kubeconfig's current one. */
    readonly context?: string | undefined;
    /** `host:port` or URL of the API server, instead of the configured one (key kubeAPIServerOverride). */
    readonly apiServerOverride?: string | undefined;
    /** Who we are in the server's logs and in managed fields, `antrea-agent/0.1.0`. */
    readonly userAgent: string;
    /** Most connections for requests that end. Default 32. */
    readonly maxConnections?: number | undefined;
}

export interface KubeClients extends Disposable {
    readonly api: ApiClient;
    /** The namespace of this Pod or of the kubeconfig's context, where known. */
    readonly namespace: string | undefined;
    /** Address and credentials, for a connection that `api` has no call for. Ask again for each. */
    connection(): Promise<Connection>;
    /** Closes all connections; what is asked after it opens new ones. */
    close(): void;
}

/** Reads the configuration; nothing is sent yet. Throws KubeError BAD_CONFIG. */
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
