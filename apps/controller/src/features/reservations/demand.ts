import { podIpsAnnotation, poolsAnnotation } from "@antrea/crd";
import { type IpAddress } from "@antrea/ip";
import { poolsOf, readPodIps, type NamedPools } from "@antrea/ipam";
import { type Namespace, type StatefulSet } from "@antrea/kube";
import { networksAnnotation } from "@antrea/networks";

/**
 * The addresses that a StatefulSet requests, by its template and, if that names no pools, its Namespace; made by
 * `demandOf`.
 */
export interface Demand {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
    /** `spec.replicas`; 1 if it is absent. */
    readonly replicas: number;
    /** The lowest ordinal. */
    readonly start: number;
    /** How many ordinals get new addresses, see `reachOf`; 0 on the host network, and while there are problems. */
    readonly reach: number;
    /** Its Pods are on the host network. */
    readonly hostNetwork: boolean;
    /** Rules that the annotations violate, as text for users: agents reject the Pods. Empty if they are valid. */
    readonly problems: readonly string[];
    /** It has a deletionTimestamp: its reservations are released. */
    readonly deleting: boolean;
    /** Undefined: its Pods take no address from pools. */
    readonly pools: NamedPools | undefined;
    /** Addresses of the annotation pod-ips; empty: any. */
    readonly fixed: readonly IpAddress[];
    /** The annotation by which its Pods request other networks than the Pod network; "" if absent. */
    readonly networks: string;
}

const leastReach = 256;

/**
 * How many ordinals of a StatefulSet with this many Pods get reservations: 256 or, if that is more, twice the number of
 * Pods. `spec.replicas` is not limited by quotas and each reservation is an object, so the Pods, which quotas limit,
 * are counted. Rounded down to steps, so that a new Pod seldom requires a new plan. Pure function.
 */
export function reachOf(pods: number): number {
    const twice = Math.max(leastReach, 2 * pods);
    const step = 2 ** (Math.floor(Math.log2(twice)) - 3);
    return Math.floor(twice / step) * step;
}

/**
 * Whether the template of the StatefulSet names no pools, so that its Pods use those of its Namespace, if that names
 * any. Pure function.
 */
export function asksNamespace(set: StatefulSet): boolean {
    return set.spec?.template.metadata?.annotations?.[poolsAnnotation] === undefined;
}

/**
 * The demand of a StatefulSet. `namespace` may be undefined only if the StatefulSet does not inherit the pools
 * (`asksNamespace`). Pure function; never throws: violated rules are in `problems`.
 */
export function demandOf(set: StatefulSet, namespace: Namespace | undefined): Demand {
    const annotations = set.spec?.template.metadata?.annotations;
    const { namespace: setNamespace = "", name = "", uid = "", deletionTimestamp } = set.metadata ?? {};
    const hostNetwork = set.spec?.template.spec?.hostNetwork === true;
    const pools = poolsOf(annotations, namespace?.metadata?.annotations);
    const fixed = readPodIps(annotations?.[podIpsAnnotation] ?? "");
    const problems =
        pools === undefined
            ? []
            : [
                  ...pools.problems.map((problem) => `ippools: ${problem}`),
                  ...fixed.problems.map((problem) => `pod-ips: ${problem}`),
              ];
    return {
        namespace: setNamespace,
        name,
        uid,
        replicas: set.spec?.replicas ?? 1,
        start: set.spec?.ordinals?.start ?? 0,
        // Existing reservations are kept: the template may be wrong temporarily.
        reach: hostNetwork || problems.length > 0 ? 0 : reachOf(set.status?.replicas ?? 0),
        hostNetwork,
        problems,
        deleting: deletionTimestamp !== undefined,
        pools,
        fixed: fixed.ips,
        networks: annotations?.[networksAnnotation] ?? "",
    };
}

/** Reduces a StatefulSet to the fields that `demandOf` reads, with which an informer keeps it. Returns a new object. */
export function slimSet(set: StatefulSet): StatefulSet {
    const { namespace, name, uid, resourceVersion, deletionTimestamp } = set.metadata ?? {};
    const { replicas, ordinals, template } = set.spec ?? {};
    const pods = set.status?.replicas ?? 0;
    const annotations = only(template?.metadata?.annotations, [poolsAnnotation, podIpsAnnotation, networksAnnotation]);
    return {
        metadata: {
            ...(namespace !== undefined && { namespace }),
            ...(name !== undefined && { name }),
            ...(uid !== undefined && { uid }),
            ...(resourceVersion !== undefined && { resourceVersion }),
            ...(deletionTimestamp !== undefined && { deletionTimestamp }),
        },
        spec: {
            selector: {},
            ...(replicas !== undefined && { replicas }),
            ...(ordinals !== undefined && { ordinals }),
            template: {
                metadata: { annotations },
                ...(template?.spec?.hostNetwork === true && { spec: { hostNetwork: true, containers: [] } }),
            },
        },
        ...(pods > 0 && { status: { replicas: pods } }),
    };
}

/**
 * Reduces a Namespace to the fields that `demandOf` reads: its metadata with the pools annotation only. Returns a new
 * object.
 */
export function slimNamespace(namespace: Namespace): Namespace {
    const { name, uid, resourceVersion, annotations } = namespace.metadata ?? {};
    return {
        metadata: {
            ...(name !== undefined && { name }),
            ...(uid !== undefined && { uid }),
            ...(resourceVersion !== undefined && { resourceVersion }),
            annotations: only(annotations, [poolsAnnotation]),
        },
    };
}

function only(
    annotations: Readonly<Record<string, string>> | undefined,
    keys: readonly string[],
): Readonly<Record<string, string>> {
    return Object.fromEntries(
        keys.flatMap((key) => (annotations?.[key] === undefined ? [] : [[key, annotations[key]] as const])),
    );
}
