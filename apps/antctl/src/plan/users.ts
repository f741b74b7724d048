import { namesPool } from "@antrea/ipam";
import { isFinished, type Cluster, type NamespaceInfo, type PodInfo, type WorkloadInfo } from "../cluster/index.ts";

/** Everything in the cluster that may name a pool. */
export interface Users {
    readonly namespaces: readonly NamespaceInfo[];
    /** Without those that have ended. */
    readonly pods: readonly PodInfo[];
    readonly workloads: readonly WorkloadInfo[];
}

export async function readUsers(cluster: Cluster): Promise<Users> {
    const [namespaces, pods, deployments, statefulSets] = await Promise.all([
        cluster.namespaces(),
        cluster.pods(),
        cluster.deployments(),
        cluster.statefulSets(),
    ]);
    return {
        namespaces,
        pods: pods.filter((pod) => !isFinished(pod)),
        workloads: [...deployments, ...statefulSets],
    };
}

/** Who names a pool in an annotation. */
export interface NamedBy {
    readonly namespaces: readonly string[];
    /** `namespace/name` */
    readonly pods: readonly string[];
    /** `namespace/name` */
    readonly deployments: readonly string[];
    /** `namespace/name` */
    readonly statefulSets: readonly string[];
}

export function namedBy({ namespaces, pods, workloads }: Users, pool: string): NamedBy {
    const path = ({ namespace, name }: { readonly namespace: string; readonly name: string }): string =>
        `${namespace}/${name}`;
    const naming = workloads.filter(({ annotations }) => namesPool(annotations, pool));
    return {
        namespaces: namespaces.filter(({ annotations }) => namesPool(annotations, pool)).map(({ name }) => name),
        pods: pods.filter(({ annotations }) => namesPool(annotations, pool)).map(path),
        deployments: naming.filter(({ kind }) => kind === "Deployment").map(path),
        statefulSets: naming.filter(({ kind }) => kind === "StatefulSet").map(path),
    };
}

/** The same as a list for the rules. */
export function references(named: NamedBy): readonly string[] {
    return [
        ...named.namespaces.map((name) => `Namespace ${name}`),
        ...named.deployments.map((path) => `Deployment ${path}`),
        ...named.statefulSets.map((path) => `StatefulSet ${path}`),
        ...named.pods.map((path) => `Pod ${path}`),
    ];
}
