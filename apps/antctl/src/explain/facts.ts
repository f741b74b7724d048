import { parseIp, prefixContains, type IpAddress } from "@antrea/ip";
import { readPodIps, statefulSetOf, poolsOf, type NamedPools, type StatefulSetPlace } from "@antrea/ipam";
import { podIpsAnnotation } from "@antrea/crd";
import { type Claim, type EventInfo, type Gate, type NodeInfo, type PodInfo } from "../cluster/index.ts";
import { type PoolSet } from "../pools/index.ts";
import { type ControllerState } from "./controller.ts";

/** What is known of the Pod and of what its addresses depend on. */
export interface Facts {
    readonly pod: PodInfo;
    /** Why it has no Node yet, as the scheduler says. */
    readonly unscheduled: string | undefined;
    readonly namespaceAnnotations: Readonly<Record<string, string>>;
    readonly gate: Gate;
    readonly controller: ControllerState;
    readonly pools: PoolSet;
    /** All claims of the pools that are named and of those that overlap them, and those of the Pod itself. */
    readonly claims: readonly Claim[];
    /** The agent Pod of its Node. */
    readonly agent: PodInfo | undefined;
    readonly events: readonly EventInfo[];
    readonly setEvents: readonly EventInfo[];
}

/** What the Pod asks for. */
export interface Wish {
    readonly named: NamedPools;
    readonly fixed: readonly IpAddress[];
    readonly set: StatefulSetPlace | undefined;
}

/** Undefined: it asks for no pool. */
export function wishOf(pod: PodInfo, namespaceAnnotations: Readonly<Record<string, string>>): Wish | undefined {
    if (pod.hostNetwork) return undefined;
    const named = poolsOf(pod.annotations, namespaceAnnotations);
    if (named === undefined) return undefined;
    const { ips: fixed } = readPodIps(pod.annotations[podIpsAnnotation] ?? "");
    return { named, fixed, set: statefulSetOf(pod) };
}

/** The claims that the Pod has now. */
export function claimsOfPod({ claims, pod }: Pick<Facts, "claims" | "pod">): readonly Claim[] {
    return claims.filter((claim) => claim.pod !== undefined && pod.uids.includes(claim.pod.uid));
}

/**
 * Whether the Pod asks for pools and runs on addresses of its Node's subnet all the same: it got them when nothing named a
 * pool yet, or while agents did not heed IPPools. It keeps them as long as it is there.
 */
export function runsOnNodeSubnet(facts: Facts): boolean {
    const { pod, pools } = facts;
    if (pod.hostNetwork || pod.phase !== "Running" || pod.ips.length === 0) return false;
    if (claimsOfPod(facts).length > 0) return false;
    const node = nodeOf(facts, pod.nodeName);
    return pod.ips.every((text) => {
        const ip = parseIp(text);
        return node?.podCidrs.some((cidr) => prefixContains(cidr, ip)) === true && pools.covering(ip).length === 0;
    });
}

/** The claims kept for an ordinal of the Pod's StatefulSet, whoever uses them. */
export function claimsOfOrdinal(claims: readonly Claim[], namespace: string, set: StatefulSetPlace): readonly Claim[] {
    return claims.filter(
        ({ owner }) =>
            owner.kind === "StatefulSet" &&
            owner.namespace === namespace &&
            owner.name === set.name &&
            owner.index === set.ordinal,
    );
}

export function nodeOf(facts: Pick<Facts, "pools">, name: string | undefined): NodeInfo | undefined {
    return facts.pools.nodes.find((node) => node.name === name);
}
