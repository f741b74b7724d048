import { poolsAnnotation } from "@antrea/crd";
import { readPoolNames, type Annotations } from "@antrea/ipam";
import {
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
import { type BookComponents } from "./types.ts";

/**
 * Who names pools in annotations: Namespaces, Pods that have not ended, templates of Deployments and StatefulSets.
 */
export class UserBook {
    readonly namespaces: Informer<Namespace>;
    readonly pods: Informer<Pod>;
    readonly deployments: Informer<Workload>;
    readonly statefulSets: Informer<Workload>;
    readonly #byPool = new Map<string, Set<string>>();

    constructor(components: BookComponents) {
        this.namespaces = new Informer(components, { resource: namespaces, transform: slimNamespace });
        this.pods = new Informer(components, {
            resource: pods,
            fieldSelector: "status.phase!=Succeeded,status.phase!=Failed",
            transform: slimPod,
        });
        const workloads = (resource: Resource<Workload>): Informer<Workload> =>
            new Informer(components, { resource, transform: slimWorkload });
        this.deployments = workloads(deployments as Resource<Workload>);
        this.statefulSets = workloads(statefulSets as Resource<Workload>);
        const own = ({ metadata }: KubeObject): Annotations => metadata?.annotations;
        const template = ({ spec }: Workload): Annotations => spec?.template?.metadata?.annotations;
        this.#follow("Namespace", this.namespaces, own);
        this.#follow("Pod", this.pods, own);
        this.#follow("Deployment", this.deployments, template);
        this.#follow("StatefulSet", this.statefulSets, template);
    }

    get informers(): readonly Pick<Informer<KubeObject>, "start" | "close" | "hasSynced">[] {
        return [this.namespaces, this.pods, this.deployments, this.statefulSets];
    }

    /** Who names the pool, for people: `Namespace a`, `Deployment a/web`. */
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
