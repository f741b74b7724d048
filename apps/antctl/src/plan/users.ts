import { type IpAddress } from "@antrea/ip";
import { namesPool, type Pool } from "@antrea/ipam";
import { isKubeError, networkAttachmentDefinitions } from "@antrea/kube";
import { takesFromPool } from "@antrea/networks";
import { isFinished, type Cluster, type NamespaceInfo, type PodInfo, type TemplateInfo } from "../cluster/index.ts";

/** Everything in the cluster that may name a pool, as the webhook counts it. */
export interface Users {
    readonly namespaces: readonly NamespaceInfo[];
    /** Without Pods that have terminated or are on the host network. */
    readonly pods: readonly PodInfo[];
    /** Deployments, StatefulSets, DaemonSets and CronJobs. */
    readonly workloads: readonly TemplateInfo[];
    /** The NetworkAttachmentDefinitions; undefined if they may not be read. */
    readonly networks: readonly NetworkInfo[] | undefined;
}

interface NetworkInfo {
    readonly namespace: string;
    readonly name: string;
    /** The text of its configuration. */
    readonly config: string;
}

/** Reads all Namespaces, Pods, workloads and networks of the cluster. Rejects with KubeError. */
export async function readUsers(cluster: Cluster): Promise<Users> {
    const [namespaces, pods, networks, ...workloads] = await Promise.all([
        cluster.namespaces(),
        cluster.pods(),
        readNetworks(cluster),
        cluster.deployments(),
        cluster.statefulSets(),
        cluster.daemonSets(),
        cluster.cronJobs(),
    ]);
    return {
        namespaces,
        pods: pods.filter((pod) => !isFinished(pod) && !pod.hostNetwork),
        workloads: workloads.flat(),
        networks,
    };
}

/** None without their CustomResourceDefinition, which is not of this project. */
async function readNetworks(cluster: Cluster): Promise<Users["networks"]> {
    try {
        return await cluster.list(networkAttachmentDefinitions, ({ metadata, spec }) => ({
            namespace: metadata?.namespace ?? "",
            name: metadata?.name ?? "",
            config: spec?.config ?? "",
        }));
    } catch (error) {
        if (isKubeError(error, "NOT_FOUND")) return [];
        if (isKubeError(error, "FORBIDDEN")) return undefined;
        throw error;
    }
}

/** The names of the objects that name a pool, in an annotation or as a network, by kind. */
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
    /** `namespace/name` of the NetworkAttachmentDefinitions that take addresses of it; undefined if they may not be read. */
    readonly networks: readonly string[] | undefined;
}

/**
 * The objects that name this pool in an annotation, or whose Pod template does, and the networks that take addresses of it.
 *
 * @param ranges the pool with the ranges in which static addresses of networks count; undefined if it is unknown
 */
export function namedBy(
    { namespaces, pods, workloads, networks }: Users,
    pool: string,
    ranges: Pick<Pool, "subnetOf"> | undefined,
): NamedBy {
    const named = { name: pool, subnetOf: (ip: IpAddress) => ranges?.subnetOf(ip) };
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
        networks: networks?.filter(({ config }) => takesFromPool(config, named)).map(path),
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
        ...(named.networks ?? []).map((path) => `NetworkAttachmentDefinition ${path}`),
    ];
}
