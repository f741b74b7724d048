import { allocationName, ipAllocations, ipPools, type IpPool } from "@antrea/crd";
import { type IpAddress, type Prefix } from "@antrea/ip";
import { clusterAddresses } from "@antrea/ipam";
import {
    cronJobs,
    daemonSets,
    deployments,
    isKubeError,
    namespaces,
    nodes,
    pods,
    serviceCidrs,
    statefulSets,
    type ApiClient,
    type KubeObject,
    type ListOptions,
    type ObjectRef,
    type Resource,
} from "@antrea/kube";
import { CliError } from "../errors.ts";
import { readAllocation, type Allocation } from "./allocation.ts";
import { readNode, type NodeInfo } from "./node.ts";
import { ipamAnnotations, readPod, type PodInfo } from "./pod.ts";
import {
    readCronJob,
    readDaemonSet,
    readDeployment,
    readStatefulSet,
    type TemplateInfo,
    type WorkloadInfo,
} from "./workload.ts";

/** A Namespace and its IPAM annotations. */
export interface NamespaceInfo {
    readonly name: string;
    /** The IPAM annotations, if any. */
    readonly annotations: Readonly<Record<string, string>>;
}

/** Selects allocations to list: those that have all the values given. The API server evaluates it. */
export interface AllocationSelector {
    readonly pool?: string;
    readonly nodeName?: string;
    readonly state?: Allocation["state"];
}

/**
 * Reads a cluster for one command and caches nothing. Each call sends requests to the API server; lists are reduced
 * page by page. All methods reject with KubeError if a request fails. It does not close `api`.
 */
export class Cluster {
    readonly api: ApiClient;
    readonly #options: { readonly timeoutMs: number };

    /** `timeoutMs` applies to each request, in milliseconds. */
    constructor(components: { readonly api: ApiClient }, options: { readonly timeoutMs: number }) {
        this.api = components.api;
        this.#options = options;
    }

    /** All IPPools. Rejects with CliError `NOT_SERVED` if the cluster does not serve them. */
    async pools(): Promise<readonly IpPool[]> {
        return served(this.list(ipPools, (pool) => pool));
    }

    /** The IPPool of this name; undefined if there is none, or if the cluster does not serve IPPools. */
    async pool(name: string): Promise<IpPool | undefined> {
        return this.find(ipPools, { name });
    }

    /**
     * The allocations that the selector matches. Rejects with CliError `NOT_SERVED` if the cluster does not serve them.
     */
    async allocations(selector: AllocationSelector = {}): Promise<readonly Allocation[]> {
        const terms = [
            ["spec.pool", selector.pool],
            ["spec.pod.nodeName", selector.nodeName],
            ["spec.state", selector.state],
        ].flatMap(([field, value]) => (value === undefined ? [] : [`${field}=${value}`]));
        const o = terms.length === 0 ? {} : { fieldSelector: terms.join(",") };
        return served(this.list(ipAllocations, readAllocation, o));
    }

    /** The allocation of an address; undefined if there is none, or if the cluster does not serve IPAllocations. */
    async allocationOf(ip: IpAddress): Promise<Allocation | undefined> {
        const object = await this.find(ipAllocations, { name: allocationName(ip) });
        return object && readAllocation(object);
    }

    /** All Nodes. */
    async nodes(): Promise<readonly NodeInfo[]> {
        return this.list(nodes, readNode);
    }

    /** All Pods that the options select. */
    async pods(
        o: Pick<ListOptions, "fieldSelector" | "labelSelector" | "namespace"> = {},
    ): Promise<readonly PodInfo[]> {
        return this.list(pods, readPod, o);
    }

    /**
     * The Service CIDRs of the cluster, without host bits; invalid ones are left out. Rejects with KubeError
     * `NOT_FOUND` if the cluster does not serve networking.k8s.io/v1 ServiceCIDRs.
     */
    async serviceCidrs(): Promise<readonly Prefix[]> {
        return clusterAddresses([], await this.list(serviceCidrs, (object) => object)).serviceCidrs;
    }

    /** The StatefulSets of all Namespaces; `deployments`, `daemonSets` and `cronJobs` likewise. */
    async statefulSets(): Promise<readonly WorkloadInfo[]> {
        return this.list(statefulSets, readStatefulSet);
    }

    async deployments(): Promise<readonly TemplateInfo[]> {
        return this.list(deployments, readDeployment);
    }

    async daemonSets(): Promise<readonly TemplateInfo[]> {
        return this.list(daemonSets, readDaemonSet);
    }

    async cronJobs(): Promise<readonly TemplateInfo[]> {
        return this.list(cronJobs, readCronJob);
    }

    async namespaces(): Promise<readonly NamespaceInfo[]> {
        return this.list(namespaces, ({ metadata }) => ({
            name: metadata?.name ?? "",
            annotations: ipamAnnotations(metadata?.annotations),
        }));
    }

    /** Lists all objects, reducing each on arrival; an object for which `reduce` returns undefined is left out. */
    async list<T extends KubeObject, Reduced>(
        resource: Resource<T>,
        reduce: (object: T) => Reduced | undefined,
        o: ListOptions = {},
    ): Promise<readonly Reduced[]> {
        const found: Reduced[] = [];
        for await (const page of this.api.pages(resource, { timeoutMs: this.#options.timeoutMs, ...o })) {
            for (const item of page.items) {
                const reduced = reduce(item);
                if (reduced !== undefined) found.push(reduced);
            }
        }
        return found;
    }

    /** One object; undefined if there is none. */
    async find<T extends KubeObject>(resource: Resource<T>, ref: ObjectRef): Promise<T | undefined> {
        return this.api.find(resource, ref, { timeoutMs: this.#options.timeoutMs });
    }
}

/** Rejects with NOT_SERVED if the list is not found: the API server does not serve the kind. */
async function served<T>(list: Promise<T>): Promise<T> {
    try {
        return await list;
    } catch (cause) {
        if (!isKubeError(cause, "NOT_FOUND")) throw cause;
        throw new CliError(
            "NOT_SERVED",
            "environment",
            "the cluster has no CRDs IPPool and IPAllocation",
            "install Antrea with its chart, which has them, or choose another cluster with --context",
            { cause },
        );
    }
}
