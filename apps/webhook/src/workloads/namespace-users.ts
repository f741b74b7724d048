import { allocationAddress, ipAllocations, poolsAnnotation, type IpAllocation } from "@antrea/crd";
import { formatIp } from "@antrea/ip";
import { usesNamespacePools, type WorkloadShape } from "@antrea/ipam";
import { hasPodUid, pods, statefulSets, type ApiClient, type KubeObject, type Pod } from "@antrea/kube";

type Workload = KubeObject & WorkloadShape;

/** Dependencies of NamespaceUsers; the caches may be stale. */
export interface NamespaceUsersComponents {
    readonly api: Pick<ApiClient, "list">;
    /** Pods that have not terminated, by `namespace/name`. */
    readonly pods: { get(key: string): Pod | undefined };
    /** StatefulSets by `namespace/name`; their template may be absent if it has no annotation of IPAM. */
    readonly statefulSets: { get(key: string): Workload | undefined };
}

/**
 * Finds the users of addresses from the pools that a Namespace names: Pods that inherit the list, and StatefulSets that
 * inherit it and have reservations, with or without a running Pod. Allocations are the source, listed at each call, so
 * a pending Pod, or one older than the annotation, is no user. Pods and StatefulSets missing in the cache are read
 * before they count as deleted.
 */
export class NamespaceUsers {
    readonly #components: NamespaceUsersComponents;

    constructor(components: NamespaceUsersComponents) {
        this.#components = components;
    }

    /**
     * For messages: `Pod a/web-0 (10.1.0.5)`, `StatefulSet a/web (2 reserved addresses)`; empty without users. `pools`:
     * the pools that the Namespace names. Rejects with KubeError.
     */
    async of(namespace: string, pools: readonly string[], signal: AbortSignal): Promise<readonly string[]> {
        const fieldSelector = `spec.owner.namespace=${namespace}`;
        // Not in pages, which etcd would have to search for these few: the API server has them in memory.
        const allocations = await this.#components.api.list(ipAllocations, { fieldSelector, pageSize: 0, signal });
        const named = new Set(pools);
        const ours = allocations.items.filter(({ spec }) => spec.owner.namespace === namespace && named.has(spec.pool));
        if (ours.length === 0) return [];
        const known = usersOf(ours, this.#components);
        if (known.length > 0) return known;
        return usersOf(ours, await this.#stored(namespace, signal));
    }

    /** The Pods and StatefulSets of the Namespace as stored in the API server now. */
    async #stored(namespace: string, signal: AbortSignal): Promise<Lookup> {
        const { api } = this.#components;
        const [livePods, liveSets] = await Promise.all([
            api.list(pods, { namespace, signal }),
            api.list(statefulSets, { namespace, signal }),
        ]);
        const byKey = <T extends KubeObject>(items: readonly T[]): Map<string, T> =>
            new Map(items.map((item) => [`${namespace}/${item.metadata?.name}`, item]));
        return { pods: byKey(livePods.items), statefulSets: byKey(liveSets.items as readonly Workload[]) };
    }
}

type Lookup = Pick<NamespaceUsersComponents, "pods" | "statefulSets">;

function usersOf(allocations: readonly IpAllocation[], known: Lookup): readonly string[] {
    const users = new Map<string, string[]>();
    for (const allocation of allocations) {
        const user = userOf(allocation, known);
        if (user === undefined) continue;
        const address = formatIp(allocationAddress(allocation.metadata?.name ?? ""));
        const addresses = users.get(user);
        if (addresses === undefined) users.set(user, [address]);
        else addresses.push(address);
    }
    return [...users].map(([user, addresses]) => {
        if (user.startsWith("Pod ")) return `${user} (${addresses.join(", ")})`;
        return `${user} (${addresses.length} reserved ${addresses.length === 1 ? "address" : "addresses"})`;
    });
}

/**
 * The Pod that uses the address, else the StatefulSet that it is reserved for; undefined if they are deleted or name
 * pools themselves.
 */
function userOf({ spec: { owner, pod } }: IpAllocation, known: Lookup): string | undefined {
    const found = pod && known.pods.get(`${pod.namespace}/${pod.name}`);
    if (pod !== undefined && found !== undefined && hasPodUid(found, pod.uid)) {
        if (usesNamespacePools(found)) return `Pod ${pod.namespace}/${pod.name}`;
    }
    if (owner.kind !== "StatefulSet") return undefined;
    const key = `${owner.namespace}/${owner.name}`;
    const template = known.statefulSets.get(key)?.spec?.template;
    // One that is cached without its template has no IPAM annotations and is not on the host network: it inherits.
    const inherits = known.statefulSets.get(key) !== undefined && (template === undefined || inheritsPools(template));
    return inherits ? `StatefulSet ${key}` : undefined;
}

function inheritsPools(template: NonNullable<NonNullable<WorkloadShape["spec"]>["template"]>): boolean {
    return template.metadata?.annotations?.[poolsAnnotation] === undefined && template.spec?.hostNetwork !== true;
}
