import { type IpAllocation, type IpPool } from "@antrea/crd";
import { parseIp, parsePrefix, RangeSet, type Family } from "@antrea/ip";
import { Exclusions, poolsOf, readPool, type Pool } from "@antrea/ipam";
import {
    keyOf,
    networkAttachmentDefinitions,
    type KubeObject,
    type Namespace,
    type NetworkAttachmentDefinition,
    type Node,
    type Pod,
    type StatefulSet,
} from "@antrea/kube";
import { kindOf } from "../api/server.ts";
import { mirroredHash } from "../cluster/mirror-pods.ts";
import { readNetwork, selectionsOf, type Attacher, type Network, type Selection } from "../cluster/network-objects.ts";
import { type SimulatedCluster } from "../simulated-cluster.ts";

const nodeKind = kindOf("v1", "nodes");
const podKind = kindOf("v1", "pods");
const namespaceKind = kindOf("v1", "namespaces");
const setKind = kindOf("apps/v1", "statefulsets");
const networkKind = kindOf("k8s.cni.cncf.io/v1", networkAttachmentDefinitions.plural);
const poolKind = kindOf("crd.antrea.io/v1alpha2", "ippools");

/** A pool in its current state. */
export interface PoolNow {
    readonly object: IpPool;
    readonly pool: Pool;
    readonly usable: RangeSet;
    /** The usable addresses without an allocation. */
    readonly free: RangeSet;
}

/** The address-related objects in the API server. */
export class ClusterObjects {
    readonly allocations: ReadonlyMap<string, IpAllocation>;
    readonly pools: ReadonlyMap<string, PoolNow>;
    readonly nodes: readonly Node[];
    readonly sets: readonly StatefulSet[];
    /** By the UID that kubelet uses. */
    readonly pods: ReadonlyMap<string, Pod>;
    /** By `namespace/name`. */
    readonly networks: ReadonlyMap<string, Network>;
    readonly #attacher: Attacher;
    readonly #namespaces: ReadonlyMap<string, Namespace>;

    constructor({ server: { store }, truth, modes }: SimulatedCluster) {
        const objects = <T extends KubeObject>(kind: ReturnType<typeof kindOf>): readonly T[] =>
            [...store.all(kind)].map(({ object }) => object as T);
        this.allocations = truth.allocations;
        this.nodes = objects<Node>(nodeKind);
        this.sets = objects<StatefulSet>(setKind);
        this.pods = new Map(objects<Pod>(podKind).map((pod) => [mirroredHash(pod) ?? pod.metadata?.uid ?? "", pod]));
        this.#attacher = modes.attacher;
        this.networks = new Map(
            objects<NetworkAttachmentDefinition>(networkKind).map((one) => [keyOf(one), readNetwork(one)]),
        );
        this.#namespaces = new Map(objects<Namespace>(namespaceKind).map((one) => [one.metadata?.name ?? "", one]));
        const objectsOfPools = objects<IpPool>(poolKind);
        const read = new Map(objectsOfPools.map((object) => [object, readPool(object)]));
        const podCidrs = this.nodes.flatMap(({ spec }) => spec?.podCIDRs ?? []);
        const exclusions = new Exclusions(
            {
                nodeAddresses: this.nodes.map(({ status }) =>
                    (status?.addresses ?? []).map(({ address }) => parseIp(address)),
                ),
                podCidrs: podCidrs.map((text) => parsePrefix(text)),
                serviceCidrs: [parsePrefix("10.96.0.0/16")],
            },
            read.values(),
        );
        const claimed = RangeSet.ofAddresses([...this.allocations.values()].map(({ spec }) => parseIp(spec.address)));
        this.pools = new Map(
            [...read].map(([object, pool]) => {
                const usable = exclusions.usable(pool);
                return [pool.name, { object, pool, usable, free: usable.subtract(claimed) }];
            }),
        );
    }

    /** The interfaces that these annotations request. */
    selectionsOf(annotations: Readonly<Record<string, string>> | undefined): readonly Selection[] {
        return selectionsOf(annotations, this.#attacher);
    }

    /** The StatefulSet of this name; undefined if there is none, or it is being deleted. */
    setOf(namespace: string | undefined, name: string | undefined): StatefulSet | undefined {
        return this.sets.find(
            ({ metadata }) =>
                metadata?.namespace === namespace &&
                metadata?.name === name &&
                metadata?.deletionTimestamp === undefined,
        );
    }

    isOrdinalOf(set: StatefulSet, index: number): boolean {
        const { start, end } = ordinalsOf(set);
        return index >= start && index < end;
    }

    /** Names of the pools that a Pod, or the Pods of a StatefulSet, request. */
    poolsOfPod({ metadata }: Pod): readonly string[] {
        return this.#poolsOf(metadata?.annotations, metadata?.namespace);
    }

    poolsOfSet({ metadata, spec }: StatefulSet): readonly string[] {
        return this.#poolsOf(spec?.template.metadata?.annotations, metadata?.namespace);
    }

    #poolsOf(annotations: Readonly<Record<string, string>> | undefined, namespace = ""): readonly string[] {
        return poolsOf(annotations, this.#namespaces.get(namespace)?.metadata?.annotations)?.names ?? [];
    }

    isThere(pool: string): boolean {
        return this.pools.has(pool);
    }

    /** Families of the existing pools among these. */
    families(names: readonly string[]): ReadonlySet<Family> {
        return new Set(names.flatMap((name) => this.pools.get(name)?.pool.family ?? []));
    }

    /** The VLANs of the pools of a family; 0 is untagged. */
    vlansOf(names: readonly string[], family: Family): readonly number[] {
        const pools = names.flatMap((name) => this.pools.get(name)?.pool ?? []);
        const subnets = pools.filter((pool) => pool.family === family).flatMap((pool) => pool.subnets);
        return subnets.map(({ vlan }) => vlan);
    }

    /** Whether none of these pools has a free address of the family. */
    isFull(names: readonly string[], family: Family): boolean {
        return names.every((name) => {
            const known = this.pools.get(name);
            return known === undefined || known.pool.family !== family || known.free.isEmpty;
        });
    }

    /** Whether the pool of the allocation contains its address. */
    isInside({ spec }: IpAllocation): boolean {
        return this.pools.get(spec.pool)?.pool.subnetOf(parseIp(spec.address)) !== undefined;
    }

    /** Allocations of an ordinal from the pools that its StatefulSet names. */
    ofOrdinal(set: StatefulSet, ordinal: number): readonly IpAllocation[] {
        const names = this.poolsOfSet(set);
        return this.#ofOrdinal(set, ordinal).filter(({ spec }) => names.includes(spec.pool));
    }

    /**
     * Allocations of the ordinal's running Pod for this StatefulSet from pools that it no longer names: they stay
     * until the Pod ends.
     */
    keptByOrdinal(set: StatefulSet, ordinal: number): readonly IpAllocation[] {
        const names = this.poolsOfSet(set);
        return this.#ofOrdinal(set, ordinal).filter(
            ({ spec: { owner, pod, pool } }) =>
                pod !== undefined && owner.uid === set.metadata?.uid && !names.includes(pool),
        );
    }

    #ofOrdinal({ metadata: { namespace, name } = {} }: StatefulSet, ordinal: number): readonly IpAllocation[] {
        return [...this.allocations.values()].filter(
            ({ spec: { owner } }) =>
                owner.kind === "StatefulSet" &&
                owner.namespace === namespace &&
                owner.name === name &&
                owner.index === ordinal &&
                owner.interface === undefined,
        );
    }
}

/** The family of an allocation's address. */
export function familyOf({ spec }: IpAllocation): Family {
    return parseIp(spec.address).family;
}

/** The first ordinal and the end of the range, exclusive. */
export function ordinalsOf({ spec }: StatefulSet): { readonly start: number; readonly end: number } {
    const start = spec?.ordinals?.start ?? 0;
    return { start, end: start + (spec?.replicas ?? 1) };
}
