import { existsSync } from "node:fs";
import { KubeConfig } from "@kubernetes/client-node/dist/config.js";
import { type Cluster, type User } from "@kubernetes/client-node/dist/config_types.js";
import { messageOf } from "@antrea/errors";
import { KubeError } from "../errors.ts";

/**
 * Reads one kubeconfig, which must exist, or merges several as kubectl does with KUBECONFIG: missing files are skipped,
 * and the first entry of a name and the first current context win. Throws KubeError BAD_CONFIG if none exists or one is
 * not readable. Sets KUBERNETES_EXEC_INFO for credential plugins, runs none.
 */
export function readKubeconfig(files: string | readonly string[]): KubeConfig {
    if (typeof files === "string") return withExecInfo(readFile(files));
    const found = files.filter((file) => existsSync(file));
    if (found.length === 0) {
        throw new KubeError("BAD_CONFIG", `no kubeconfig: none of ${files.join(", ")} exists`);
    }
    const merged = new KubeConfig();
    for (const each of found.map(readFile)) {
        merged.clusters = firstOfName([...merged.clusters, ...each.clusters]);
        merged.users = firstOfName([...merged.users, ...each.users]);
        merged.contexts = firstOfName([...merged.contexts, ...each.contexts]);
        merged.currentContext ||= each.currentContext;
    }
    return withExecInfo(merged);
}

/**
 * Sets the current context of a kubeconfig, in place. Throws KubeError BAD_CONFIG, with the known names, if it has no
 * such context.
 */
export function useContext(config: KubeConfig, context: string): void {
    const names = config.contexts.map(({ name }) => name);
    if (!names.includes(context)) {
        const known = names.length === 0 ? "it has none" : `it has ${names.join(", ")}`;
        throw new KubeError("BAD_CONFIG", `the kubeconfig has no context "${context}": ${known}`);
    }
    config.setCurrentContext(context);
}

/**
 * Returns the names of the contexts of a kubeconfig, or of several merged. Throws KubeError BAD_CONFIG if none exists
 * or one is not readable.
 */
export function kubeconfigContexts(files: string | readonly string[]): readonly string[] {
    return readKubeconfig(files).contexts.map(({ name }) => name);
}

function readFile(file: string): KubeConfig {
    const config = new KubeConfig();
    try {
        config.loadFromFile(file);
    } catch (cause) {
        // The first line has the reason and the place; the following ones quote the file, with its tokens and keys.
        const [reason = ""] = messageOf(cause).split("\n");
        const text = `cannot read kubeconfig ${file}: ${reason}`;
        throw new KubeError("BAD_CONFIG", text, { details: { file } });
    }
    return config;
}

function firstOfName<T extends { readonly name: string }>(entries: readonly T[]): T[] {
    return entries.filter((entry, at) => entries.findIndex(({ name }) => name === entry.name) === at);
}

interface ExecPlugin {
    readonly apiVersion?: string;
    readonly provideClusterInfo?: boolean;
    readonly env?: readonly { readonly name: string; readonly value: string }[];
}

/**
 * Sets KUBERNETES_EXEC_INFO for credential plugins: those built on client-go fail without it. It passes the expected
 * version of the answer and, if requested, the cluster (client.authentication.k8s.io, ExecCredential).
 */
function withExecInfo(config: KubeConfig): KubeConfig {
    const clusterOf = (user: string): Cluster | undefined => {
        const context = config.contexts.find((each) => each.user === user);
        return config.clusters.find(({ name }) => name === context?.cluster);
    };
    config.users = config.users.map((user): User => {
        const exec = user.exec as ExecPlugin | null | undefined;
        if (exec === null || exec === undefined) return user;
        const cluster = exec.provideClusterInfo === true ? clusterOf(user.name) : undefined;
        const info = {
            apiVersion: exec.apiVersion ?? "client.authentication.k8s.io/v1",
            kind: "ExecCredential",
            spec: { interactive: false, ...(cluster === undefined ? {} : { cluster: clusterInfo(cluster) }) },
        };
        const env = [{ name: "KUBERNETES_EXEC_INFO", value: JSON.stringify(info) }, ...(exec.env ?? [])];
        return { ...user, exec: { ...exec, env } };
    });
    return config;
}

function clusterInfo(cluster: Cluster): Readonly<Record<string, unknown>> {
    return {
        server: cluster.server,
        "tls-server-name": cluster.tlsServerName,
        "insecure-skip-tls-verify": cluster.skipTLSVerify,
        "certificate-authority-data": cluster.caData,
        "proxy-url": cluster.proxyUrl,
    };
}
