import { existsSync } from "node:fs";
import { KubeConfig } from "@kubernetes/client-node/dist/config.js";
import { type Cluster, type User } from "@kubernetes/client-node/dist/config_types.js";
import { messageOf } from "@antrea/errors";
import { KubeError } from "../errors.ts";

/**
 * Reads a kubeconfig, or merges several as kubectl does with KUBECONFIG: files that do not exist are left out, and of
 * two entries of one name, and of two current contexts, the first counts. Throws BAD_CONFIG.
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

/** Makes `context` the one in use. Throws BAD_CONFIG, naming those that there are. */
export function useContext(config: KubeConfig, context: string): void {
    const names = config.contexts.map(({ name }) => name);
    if (!names.includes(context)) {
        const known = names.length === 0 ? "it has none" : `it has ${names.join(", ")}`;
        throw new KubeError("BAD_CONFIG", `the kubeconfig has no context "${context}": ${known}`);
    }
    config.setCurrentContext(context);
}

/** The names of the contexts that a kubeconfig, or several merged, has. Throws BAD_CONFIG. */
export function kubeconfigContexts(files: string | readonly string[]): readonly string[] {
    return readKubeconfig(files).contexts.map(({ name }) => name);
}

function readFile(file: string): KubeConfig {
    const config = new KubeConfig();
    try {
        config.loadFromFile(file);
    } catch (cause) {
        // The first line says what is wrong and where; those after it show the file, with its tokens and keys.
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
 * Credential plugins built on client-go refuse to work without KUBERNETES_EXEC_INFO, which tells them the version of
 * the answer that is wanted and, where asked for, the cluster (client.authentication.k8s.io, ExecCredential).
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
