import { allocationName, ipAllocations, podIpsAnnotation, poolsAnnotation, type IpAllocation } from "@antrea/crd";
import {
    changesNamespacePools,
    checkNamespace,
    checkPod,
    checkPodTemplate,
    checkScale,
    poolsOf,
    readPodIps,
    readPoolNames,
    takenWarnings,
    type Annotations,
    type Exclusions,
    type Pool,
    templateAnnotations,
    type PodShape,
    type TemplateKind,
    type Verdict,
    type WorkloadContext,
    type WorkloadShape,
} from "@antrea/ipam";
import {
    deployments,
    namespaces,
    replicaSets,
    statefulSets,
    type ApiClient,
    type KubeObject,
    type Namespace,
    type Resource,
} from "@antrea/kube";
import { NamespaceUsers, type NamespaceUsersComponents } from "./namespace-users.ts";

const scaledKinds = ["Deployment", "StatefulSet", "ReplicaSet"] as const;

/** The kinds with a scale subresource and a Pod template: Deployment, StatefulSet and ReplicaSet. */
export type ScaledKind = (typeof scaledKinds)[number];

/** Whether the kind is Deployment, StatefulSet or ReplicaSet; false for undefined. */
export function isScaled(kind: string | undefined): kind is ScaledKind {
    return scaledKinds.some((scaled) => scaled === kind);
}

/** IPPools at one point in time, and the addresses that none of them assigns. */
export interface KnownPools {
    /** The pool of this name; undefined if there is none. */
    pool(name: string): Pool | undefined;
    all(): Iterable<Pool>;
    readonly exclusions: Pick<Exclusions, "reason">;
}

/**
 * Dependencies of WorkloadReviewer. Keys are `namespace/name`, or the name of a Namespace; the caches may be stale, and
 * the caller starts and closes them.
 */
export interface WorkloadReviewComponents extends NamespaceUsersComponents {
    readonly api: Pick<ApiClient, "find" | "list">;
    readonly pools: KnownPools & {
        /** The same pools, with the named ones read from the API server. Rejects with KubeError. */
        live(names: Iterable<string>, signal: AbortSignal): Promise<KnownPools>;
    };
    readonly namespaces: { get(name: string): Namespace | undefined };
    readonly deployments: { get(key: string): (KubeObject & WorkloadShape) | undefined };
}

/** A request to create (`old` is undefined) or update a namespaced object. */
export interface WorkloadRequest<T> {
    readonly namespace: string;
    readonly old: T | undefined;
    readonly object: T;
}

/**
 * Validates Pods, Pod templates and Namespaces against the caches; before it refuses or warns, it reads the objects in
 * question from the API server. Changes nothing. Each method resolves with a Verdict (no `errors`: allowed) and rejects
 * with KubeError if it cannot decide, also when the signal aborts.
 */
export class WorkloadReviewer {
    readonly #components: WorkloadReviewComponents;
    readonly #namespaceUsers: NamespaceUsers;

    constructor(components: WorkloadReviewComponents) {
        this.#components = components;
        this.#namespaceUsers = new NamespaceUsers(components);
    }

    /**
     * The verdict on a Pod; a Pod created by a user, not by a controller, also gets warnings about taken addresses.
     * Rejects with KubeError.
     */
    async pod(request: WorkloadRequest<PodShape>, signal: AbortSignal): Promise<Verdict> {
        const { object } = request;
        const verdict = await this.#judge(
            request.namespace,
            object.metadata?.annotations,
            signal,
            (context, namespace) => checkPod({ ...request, namespace }, context),
        );
        const { ownerReferences = [] } = (object as KubeObject).metadata ?? {};
        // A warning to a controller is never read.
        if (request.old !== undefined || ownerReferences.some(({ controller }) => controller === true)) return verdict;
        const place = { kind: "Pod", path: "metadata.annotations", annotations: object.metadata?.annotations };
        return this.#withTaken(verdict, place, request, signal);
    }

    /**
     * The verdict on the Pod template of a workload; a new one also gets warnings about taken addresses. Rejects with
     * KubeError.
     */
    async template(kind: TemplateKind, request: WorkloadRequest<WorkloadShape>, signal: AbortSignal): Promise<Verdict> {
        const annotations = templateAnnotations(request.object);
        const verdict = await this.#judge(request.namespace, annotations, signal, (context, namespace) =>
            checkPodTemplate(kind, { ...request, namespace }, context),
        );
        if (request.old !== undefined) return verdict;
        const path = `${kind === "CronJob" ? "spec.jobTemplate.spec" : "spec"}.template.metadata.annotations`;
        return this.#withTaken(verdict, { kind, path, annotations }, request, signal);
    }

    /**
     * The verdict on a request to the scale subresource of the object, to this number of replicas. An object that does
     * not exist is allowed. Rejects with KubeError.
     */
    async scale(
        kind: ScaledKind,
        ref: { readonly namespace: string; readonly name: string },
        replicas: number,
        signal: AbortSignal,
    ): Promise<Verdict> {
        const { api } = this.#components;
        const key = `${ref.namespace}/${ref.name}`;
        const object = {
            Deployment: () => this.#components.deployments.get(key),
            StatefulSet: () => this.#components.statefulSets.get(key),
            // There are many ReplicaSets, and they are rarely scaled manually.
            ReplicaSet: () => undefined,
        }[kind]();
        const verdict = object && checkScale(object, replicas);
        if (verdict !== undefined && isClean(verdict)) return verdict;
        const plain = kind === "Deployment" ? deployments : kind === "StatefulSet" ? statefulSets : replicaSets;
        const resource = plain as Resource<KubeObject & WorkloadShape>;
        const stored = await api.find(resource, ref, { signal });
        return stored === undefined ? clean : checkScale(stored, replicas);
    }

    /**
     * The verdict on a new (`old` undefined) or changed Namespace, by its annotations: other pools are refused while
     * Pods or StatefulSets use the former ones. Rejects with KubeError.
     */
    async namespace(
        name: string,
        change: { readonly old: Annotations; readonly annotations: Annotations },
        signal: AbortSignal,
    ): Promise<Verdict> {
        const { pools } = this.#components;
        const before = readPoolNames(change.old?.[poolsAnnotation] ?? "").names;
        const changes = changesNamespacePools(change.old, change.annotations);
        const users = changes ? await this.#namespaceUsers.of(name, before, signal) : [];
        const verdict = checkNamespace(change, this.#context(pools), users);
        if (isClean(verdict)) return verdict;
        const { names } = readPoolNames(change.annotations?.[poolsAnnotation] ?? "");
        return checkNamespace(change, this.#context(await pools.live(names, signal)), users);
    }

    /** Adds warnings if the addresses that a new object requests are taken. */
    async #withTaken(
        verdict: Verdict,
        place: { readonly kind: string; readonly path: string; readonly annotations: Annotations },
        { namespace, object }: WorkloadRequest<object>,
        signal: AbortSignal,
    ): Promise<Verdict> {
        const { ips } = readPodIps(place.annotations?.[podIpsAnnotation] ?? "");
        if (ips.length === 0 || verdict.errors.length > 0) return verdict;
        const { api } = this.#components;
        const read = ips.map((ip) => api.find(ipAllocations, { name: allocationName(ip) }, { signal }));
        const allocations = (await Promise.all(read)).filter((allocation) => allocation !== undefined);
        const { name } = (object as KubeObject).metadata ?? {};
        const isOwn = ({ spec: { owner } }: IpAllocation): boolean =>
            owner.kind === place.kind && owner.namespace === namespace && owner.name === name;
        const warnings = takenWarnings(`${place.path}[${podIpsAnnotation}]`, allocations, isOwn);
        return { ...verdict, warnings: [...verdict.warnings, ...warnings] };
    }

    async #judge(
        namespace: string,
        own: Annotations,
        signal: AbortSignal,
        check: (context: WorkloadContext, namespace: Annotations) => Verdict,
    ): Promise<Verdict> {
        const { api, pools } = this.#components;
        const known = this.#components.namespaces.get(namespace);
        const verdict = check(this.#context(pools), known?.metadata?.annotations);
        if (isClean(verdict)) return verdict;
        const stored = await api.find(namespaces, { name: namespace }, { signal });
        const annotations = stored?.metadata?.annotations;
        const names = poolsOf(own, annotations)?.names ?? [];
        return check(this.#context(await pools.live(names, signal)), annotations);
    }

    #context(pools: KnownPools): WorkloadContext {
        return {
            pool: (name) => pools.pool(name),
            poolNames: function* () {
                for (const { name } of pools.all()) yield name;
            },
            exclusions: { reason: (pool, ip) => pools.exclusions.reason(pool, ip) },
        };
    }
}

const clean: Verdict = { errors: [], warnings: [] };

function isClean({ errors, warnings }: Verdict): boolean {
    return errors.length === 0 && warnings.length === 0;
}
