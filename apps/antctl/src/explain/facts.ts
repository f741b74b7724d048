import { prefixContains, type IpAddress } from "@antrea/ip";
import { readPodIps, statefulSetOf, poolsOf, type NamedPools, type StatefulSetPlace } from "@antrea/ipam";
import { podIpsAnnotation } from "@antrea/crd";
import { podLookup } from "@antrea/kube";
import {
    readAddress,
    type Allocation,
    type EventInfo,
    type Gate,
    type NodeInfo,
    type PodInfo,
} from "../cluster/index.ts";
import { type PoolSet } from "../pools/index.ts";
import { type ControllerState } from "./controller.ts";
import { type NetworkFacts } from "./requested-networks.ts";

/**
 * The state of the Pod and of everything that its addresses depend on, read at about the same time; `explain` and its
 * rules read nothing else.
 */
export interface Facts {
    readonly pod: PodInfo;
    /** The scheduler's reason why it has no Node yet; undefined if it reports none. */
    readonly unscheduled: string | undefined;
    /** The IPAM annotations of its Namespace. */
    readonly namespaceAnnotations: Readonly<Record<string, string>>;
    readonly gate: Gate;
    /** `unknown` if the Pod is not of a StatefulSet: only that needs the controller. */
    readonly controller: ControllerState;
    readonly pools: PoolSet;
    /** The networks that it requests; undefined for none. */
    readonly networks: NetworkFacts | undefined;
    /** Allocations of the named pools, also by networks, of pools that overlap them, and of the Pod itself. */
    readonly allocations: readonly Allocation[];
    /** The agent Pod on its Node; undefined if there is none. */
    readonly agent: PodInfo | undefined;
    readonly events: readonly EventInfo[];
    /** Events of its StatefulSet. */
    readonly setEvents: readonly EventInfo[];
}

/**
 * The addresses that the Pod requests: the pools in the order of the annotation, the fixed addresses, and its place in
 * its StatefulSet; `set` is undefined for any other Pod.
 */
export interface AddressRequest {
    readonly named: NamedPools;
    readonly fixed: readonly IpAddress[];
    readonly set: StatefulSetPlace | undefined;
}

/**
 * The request in the annotations of the Pod or its Namespace. Undefined: it requests no pool, or is on the host
 * network.
 */
export function addressRequestOf(
    pod: PodInfo,
    namespaceAnnotations: Readonly<Record<string, string>>,
): AddressRequest | undefined {
    if (pod.hostNetwork) return undefined;
    const named = poolsOf(pod.annotations, namespaceAnnotations);
    if (named === undefined) return undefined;
    const { ips: fixed } = readPodIps(pod.annotations[podIpsAnnotation] ?? "");
    return { named, fixed, set: statefulSetOf(pod) };
}

/** The current allocations of the Pod on the Pod network; those of an earlier Pod of the same name are left out. */
export function allocationsOfPod({ allocations, pod }: Pick<Facts, "allocations" | "pod">): readonly Allocation[] {
    const find = podLookup([pod]);
    return allocations.filter(
        ({ pod: holder }) => holder !== undefined && holder.network === undefined && find(holder) !== undefined,
    );
}

/**
 * Whether a Pod that requests pools runs on addresses of its Node's subnet: it got them before a pool was named, or
 * while IPPools were disabled. It keeps them until it is deleted. That it requests pools is not checked. False if an
 * address is unreadable.
 */
export function runsOnNodeSubnet(facts: Facts): boolean {
    const { pod, pools } = facts;
    if (pod.hostNetwork || pod.phase !== "Running" || pod.ips.length === 0) return false;
    if (allocationsOfPod(facts).length > 0) return false;
    const node = nodeOf(facts, pod.nodeName);
    return pod.ips.every((text) => {
        const ip = readAddress(text);
        if (ip === undefined) return false;
        return node?.podCidrs.some((cidr) => prefixContains(cidr, ip)) === true && pools.covering(ip).length === 0;
    });
}

/** The current allocations of the Pod on other networks, as `allocationsOfPod`. */
export function networkAllocationsOf({ allocations, pod }: Pick<Facts, "allocations" | "pod">): readonly Allocation[] {
    const find = podLookup([pod]);
    return allocations.filter(({ pod: holder }) => holder?.network !== undefined && find(holder) !== undefined);
}

/**
 * The allocations for an ordinal of the StatefulSet `set` in `namespace`, whether or not a Pod uses them: on the Pod
 * network, or those of an interface on another one; its UID is not compared.
 */
export function allocationsOfOrdinal(
    allocations: readonly Allocation[],
    namespace: string,
    set: StatefulSetPlace,
    ifName?: string,
): readonly Allocation[] {
    return allocations.filter(
        ({ owner }) =>
            owner.kind === "StatefulSet" &&
            owner.namespace === namespace &&
            owner.name === set.name &&
            owner.index === set.ordinal &&
            owner.interface === ifName,
    );
}

/** The Node of this name; undefined if the cluster does not have it, or for no name. */
export function nodeOf(facts: Pick<Facts, "pools">, name: string | undefined): NodeInfo | undefined {
    return facts.pools.nodes.find((node) => node.name === name);
}
