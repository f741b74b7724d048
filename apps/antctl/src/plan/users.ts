import { namesPool } from "@antrea/ipam";
import { isFinished, type Cluster, type NamespaceInfo, type PodInfo, type TemplateInfo } from "../cluster/index.ts";

/** Everything in the cluster that may name a pool, as the webhook counts it. */
export interface Users {
    readonly namespaces: readonly NamespaceInfo[];
    /** Without Pods that have terminated or are on the host network. */
    readonly pods: readonly PodInfo[];
    /** Deployments, StatefulSets, DaemonSets and CronJobs. */
    readonly workloads: readonly TemplateInfo[];
}

/** Reads all Namespaces, Pods and workloads of the cluster. Rejects with KubeError. */
export async function readUsers(cluster: Cluster): Promise<Users> {
    const [namespaces, pods, ...workloads] = await Promise.all([
        cluster.namespaces(),
        cluster.pods(),
        cluster.deployments(),
        cluster.statefulSets(),
        cluster.daemonSets(),
        cluster.cronJobs(),
    ]);
    return {
        namespaces,
        pods: pods.filter((pod) => !isFinished(pod) && !pod.hostNetwork),
        workloads: workloads.flat(),
    };
}

/** The names of the objects that name a pool in an annotation, by kind. */
export interface NamedBy {
    readonly namespaces: readonly string[];
    /** `namespace/name` */
    readonly pods: readonly string[];
    /** `namespace/name` */
    readonly deployments: readonly string[];
    /** `namespace/name` */
    readonly statefulSets: readonly string[];
    /** `namespace/name` */
    readonly daemonSets: readonly string[];
    /** `namespace/name` */
    readonly cronJobs: readonly string[];
}

/** The objects that name this pool in an annotation, or whose Pod template does. */
export function namedBy({ namespaces, pods, workloads }: Users, pool: string): NamedBy {
    const path = ({ namespace, name }: { readonly namespace: string; readonly name: string }): string =>
        `${namespace}/${name}`;
    const naming = workloads.filter(({ annotations }) => namesPool(annotations, pool));
    const of = (kind: TemplateInfo["kind"]): readonly string[] => naming.filter((one) => one.kind === kind).map(path);
    return {
        namespaces: namespaces.filter(({ annotations }) => namesPool(annotations, pool)).map(({ name }) => name),
        pods: pods.filter(({ annotations }) => namesPool(annotations, pool)).map(path),
        deployments: of("Deployment"),
        statefulSets: of("StatefulSet"),
        daemonSets: of("DaemonSet"),
        cronJobs: of("CronJob"),
    };
}

/** The objects of `named` as texts, for the messages of `checkPoolUpdate`: `Namespace shop`, `Deployment shop/web`. */
export function references(named: NamedBy): readonly string[] {
    return [
        ...named.namespaces.map((name) => `Namespace ${name}`),
        ...named.deployments.map((path) => `Deployment ${path}`),
        ...named.statefulSets.map((path) => `StatefulSet ${path}`),
        ...named.daemonSets.map((path) => `DaemonSet ${path}`),
        ...named.cronJobs.map((path) => `CronJob ${path}`),
        ...named.pods.map((path) => `Pod ${path}`),
    ];
}
