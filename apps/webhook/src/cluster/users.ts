import { poolsAnnotation } from "@antrea/crd";
import { readPoolNames, templateAnnotations, type Annotations } from "@antrea/ipam";
import {
    cronJobs,
    daemonSets,
    deployments,
    Informer,
    namespaces,
    pods,
    statefulSets,
    type KubeObject,
    type Namespace,
    type Pod,
    type Resource,
} from "@antrea/kube";
import { slimNamespace, slimPod, slimWorkload, type Workload } from "./slim.ts";
import { type CacheComponents } from "./types.ts";

/**
 * The objects that name pools in annotations: Namespaces, Pods that have not terminated, templates of Deployments,
 * StatefulSets, DaemonSets and CronJobs. ReplicaSets and Jobs have Pods already, or belong to one of these. Objects are
 * reduced (`slimPod` …). The caller starts and closes `informers`.
 */
export class ReferenceCache {
    readonly namespaces: Informer<Namespace>;
    readonly pods: Informer<Pod>;
    readonly deployments: Informer<Workload>;
    readonly statefulSets: Informer<Workload>;
    readonly #others: readonly Informer<Workload>[];
    readonly #byPool = new Map<string, Set<string>>();

    constructor(components: CacheComponents) {
        this.namespaces = new Informer(components, { resource: namespaces, transform: slimNamespace });
        this.pods = new Informer(components, {
            resource: pods,
            fieldSelector: "status.phase!=Succeeded,status.phase!=Failed",
            transform: slimPod,
        });
        const workloads = (resource: Resource<KubeObject>): Informer<Workload> =>
            new Informer(components, { resource: resource as Resource<Workload>, transform: slimWorkload });
        this.deployments = workloads(deployments);
        this.statefulSets = workloads(statefulSets);
        const [daemons, cron] = [workloads(daemonSets), workloads(cronJobs)];
        this.#others = [daemons, cron];
        const own = ({ metadata }: KubeObject): Annotations => metadata?.annotations;
        this.#follow("Namespace", this.namespaces, own);
        this.#follow("Pod", this.pods, own);
        this.#follow("Deployment", this.deployments, templateAnnotations);
        this.#follow("StatefulSet", this.statefulSets, templateAnnotations);
        this.#follow("DaemonSet", daemons, templateAnnotations);
        this.#follow("CronJob", cron, templateAnnotations);
    }

    /** All informers of this cache. */
    get informers(): readonly Pick<Informer<KubeObject>, "start" | "close" | "hasSynced">[] {
        return [this.namespaces, this.pods, this.deployments, this.statefulSets, ...this.#others];
    }

    /** The objects that name the pool, for messages: `Namespace a`, `Deployment a/web`; empty if none does. */
    of(pool: string): readonly string[] {
        return [...(this.#byPool.get(pool) ?? [])];
    }

    #follow<T extends KubeObject>(kind: string, informer: Informer<T>, annotations: (object: T) => Annotations): void {
        const names = (object: T | undefined): readonly string[] =>
            object === undefined ? [] : readPoolNames(annotations(object)?.[poolsAnnotation] ?? "").names;
        informer.onChange((type, key, object, old) => {
            const user = `${kind} ${key}`;
            for (const pool of names(old)) this.#remove(pool, user);
            if (type !== "deleted") for (const pool of names(object)) this.#add(pool, user);
        });
    }

    #add(pool: string, user: string): void {
        const users = this.#byPool.get(pool);
        if (users === undefined) this.#byPool.set(pool, new Set([user]));
        else users.add(user);
    }

    #remove(pool: string, user: string): void {
        const users = this.#byPool.get(pool);
        users?.delete(user);
        if (users?.size === 0) this.#byPool.delete(pool);
    }
}
