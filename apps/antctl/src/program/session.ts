import { createKubeClients, type KubeClients } from "@antrea/kube";
import { Cluster } from "../cluster/index.ts";
import { PodExec } from "../pod-exec/index.ts";
import { version } from "../version.ts";
import { findKubeconfig, type GlobalOptions } from "./options.ts";

/** One command's access to a cluster. Whoever opened it disposes of it, which closes its connections. */
export interface Session extends Disposable {
    readonly cluster: Cluster;
    readonly exec: PodExec;
    /** Limit of each request, in milliseconds. */
    readonly timeoutMs: number;
    /** The Namespace of the kubeconfig's context, else of the Pod; undefined if unknown. */
    readonly namespace: string | undefined;
}

/**
 * Reads the configuration that the options, KUBECONFIG and HOME select (`findKubeconfig`). Sends no request. Throws
 * KubeError `BAD_CONFIG`. The caller disposes of the session.
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
