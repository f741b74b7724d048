import { IpError, parseIp, parsePrefix, type IpAddress, type Prefix } from "@antrea/ip";
import { type Pool } from "./pool.ts";

/** The parts of a Node (core/v1) that have addresses which no pool hands out. */
export interface NodeWithAddresses {
    readonly spec?: { readonly podCIDR?: string; readonly podCIDRs?: readonly string[] };
    readonly status?: { readonly addresses?: readonly { readonly type?: string; readonly address: string }[] };
}

/** The parts of a ServiceCIDR (networking.k8s.io/v1) that are read here. */
export interface ServiceCidrWithRanges {
    readonly spec?: { readonly cidrs?: readonly string[] };
}

/** The addresses that the cluster itself uses. */
export interface ClusterAddresses {
    /** Of each Node all, as `nodeAddressesOf` orders them: a pool loses the first 16 of each family that it has. */
    readonly nodeAddresses: readonly (readonly IpAddress[])[];
    /** Whole subnets, without host bits. */
    readonly podCidrs: readonly Prefix[];
    /** Whole subnets, without host bits. */
    readonly serviceCidrs: readonly Prefix[];
}

/**
 * What Nodes and ServiceCIDRs keep from every pool: all that agent, controller, webhook and antctl know of it. What cannot
 * be read is left out; a podCIDR or Service CIDR with host bits is its whole subnet. `nodeAddresses` has an entry for each
 * Node, in their order, also an empty one.
 */
export function clusterAddresses(
    nodes: Iterable<NodeWithAddresses>,
    serviceCidrs: Iterable<ServiceCidrWithRanges> = [],
): ClusterAddresses {
    const all = [...nodes];
    return {
        nodeAddresses: all.map(nodeAddressesOf),
        podCidrs: all.flatMap((node) => readable(podCidrTexts(node), maskedPrefix)),
        serviceCidrs: [...serviceCidrs].flatMap(({ spec }) => readable(spec?.cidrs ?? [], maskedPrefix)),
    };
}

/** How many addresses of each family one pool loses to a Node at most. Its kubelet reports what it likes. */
export const maxNodeAddresses = 16;

/**
 * All addresses of a Node, each once: of each family first the one that Kubernetes uses for the Node, its first InternalIP;
 * then its other InternalIPs, then the rest, both by address, as clouds report them in any order. Names are among what a
 * Node reports too; what is no address can be in no pool.
 */
export function nodeAddressesOf(node: NodeWithAddresses): readonly IpAddress[] {
    const listed = node.status?.addresses ?? [];
    const internal = readable(textsOf(listed.filter(({ type }) => type === "InternalIP")), parseIp);
    const own = ([4, 6] as const).flatMap((family) => internal.find((ip) => ip.family === family) ?? []);
    const all = [...own, ...[...internal].sort(compareIps), ...readable(textsOf(listed), parseIp).sort(compareIps)];
    return [...new Map(all.map((ip) => [`${ip.family} ${ip.value}`, ip])).values()];
}

/** What a Node has in the ranges of a pool. */
export interface NodeAddressesInPool {
    /** Those that the pool does not hand out: the first 16 of each family. */
    readonly kept: readonly IpAddress[];
    /** The others: nothing but a claim keeps these from Pods. */
    readonly further: readonly IpAddress[];
}

/** @param addresses of one Node, as `nodeAddressesOf` orders them */
export function nodeAddressesIn(pool: Pick<Pool, "subnetOf">, addresses: readonly IpAddress[]): NodeAddressesInPool {
    const counts = { 4: 0, 6: 0 };
    const inside = addresses
        .filter((ip) => pool.subnetOf(ip) !== undefined)
        .map((ip) => ({ ip, at: counts[ip.family]++ }));
    const ips = (wanted: typeof inside): readonly IpAddress[] => wanted.map(({ ip }) => ip);
    return {
        kept: ips(inside.filter(({ at }) => at < maxNodeAddresses)),
        further: ips(inside.filter(({ at }) => at >= maxNodeAddresses)),
    };
}

function textsOf(addresses: readonly { readonly address: string }[]): readonly string[] {
    return addresses.map(({ address }) => address);
}

function compareIps(a: IpAddress, b: IpAddress): number {
    if (a.family !== b.family) return a.family - b.family;
    return a.value < b.value ? -1 : a.value > b.value ? 1 : 0;
}

/** The podCIDRs of a Node as text: `spec.podCIDRs`, or `spec.podCIDR` where that is empty. */
export function podCidrTexts({ spec }: NodeWithAddresses): readonly string[] {
    const { podCIDR, podCIDRs = [] } = spec ?? {};
    return podCIDRs.length > 0 || podCIDR === undefined ? podCIDRs : [podCIDR];
}

function maskedPrefix(text: string): Prefix {
    return parsePrefix(text, { hostBits: "mask" });
}

function readable<T>(texts: readonly string[], parse: (text: string) => T): T[] {
    return texts.flatMap((text) => {
        try {
            return [parse(text)];
        } catch (error) {
            if (error instanceof IpError) return [];
            throw error;
        }
    });
}
