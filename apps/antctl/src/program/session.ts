import { createKubeClients, type KubeClients } from "@antrea/kube";
import { Cluster } from "../cluster/index.ts";
import { PodExec } from "../pod-exec/index.ts";
import { version } from "../version.ts";
import { findKubeconfig, type GlobalOptions } from "./options.ts";

/** One command's connection to a cluster. */
export interface Session extends Disposable {
    readonly cluster: Cluster;
    readonly exec: PodExec;
    /** For each request, in milliseconds. */
    readonly timeoutMs: number;
    /** The Namespace of the kubeconfig's context, if set. */
    readonly namespace: string | undefined;
}

/**
 * Reads the configuration that the options and the environment select. Sends no request. Throws KubeError BAD_CONFIG.
 */
export function openSession(
    options: Pick<GlobalOptions, "kubeconfig" | "context" | "requestTimeout">,
    environment: Readonly<Record<string, string | undefined>>,
): Session {
    const userAgent = `antctl/${version}`;
    const clients: KubeClients = createKubeClients({
        kubeconfig: findKubeconfig(options.kubeconfig, environment),
        context: options.context,
        userAgent,
    });
    const timeoutMs = options.requestTimeout;
    return {
        cluster: new Cluster({ api: clients.api }, { timeoutMs }),
        exec: new PodExec(clients, { userAgent, timeoutMs }),
        timeoutMs,
        namespace: clients.namespace,
        [Symbol.dispose]: () => clients.close(),
    };
}
