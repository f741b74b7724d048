import { compareIp, IpError, parseIp, parsePrefix, type IpAddress, type Prefix } from "@antrea/ip";
import { type Pool } from "./pool.ts";

/** The part of a Node (core/v1) with addresses that no pool hands out. */
export interface NodeWithAddresses {
    readonly spec?: { readonly podCIDR?: string; readonly podCIDRs?: readonly string[] };
    readonly status?: { readonly addresses?: readonly { readonly type?: string; readonly address: string }[] };
}

/** The part of a ServiceCIDR (networking.k8s.io/v1) that is read. */
export interface ServiceCidrWithRanges {
    readonly spec?: { readonly cidrs?: readonly string[] };
}

/** The addresses that the cluster itself uses, which no pool hands out: of Nodes, podCIDRs and Service CIDRs. */
export interface ClusterAddresses {
    /**
     * All addresses of each Node in the order of `nodeAddressesOf`: a pool excludes the first 16 of each IP family that
     * it contains.
     */
    readonly nodeAddresses: readonly (readonly IpAddress[])[];
    /** Whole subnets, without host bits. */
    readonly podCidrs: readonly Prefix[];
    /** Whole subnets, without host bits. */
    readonly serviceCidrs: readonly Prefix[];
}

/**
 * Returns the addresses that Nodes and ServiceCIDRs exclude from every pool; agent, controller, webhook and antctl all
 * use it. Invalid values are skipped; a CIDR with host bits counts as its whole subnet. `nodeAddresses` has an entry
 * for each Node in their order, even an empty one.
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

/**
 * Limit of the addresses of each IP family that one Node excludes from a pool, as its kubelet may report any number.
 */
export const maxNodeAddresses = 16;

/**
 * Returns the distinct addresses of a Node: for each IP family first its first InternalIP, which Kubernetes uses; then
 * the other InternalIPs, then the others, both sorted, as cloud providers report them in any order. Host names and
 * invalid addresses are skipped.
 */
export function nodeAddressesOf(node: NodeWithAddresses): readonly IpAddress[] {
    const listed = node.status?.addresses ?? [];
    const internal = readable(textsOf(listed.filter(({ type }) => type === "InternalIP")), parseIp);
    const own = ([4, 6] as const).flatMap((family) => internal.find((ip) => ip.family === family) ?? []);
    const all = [...own, ...[...internal].sort(compareIp), ...readable(textsOf(listed), parseIp).sort(compareIp)];
    return [...new Map(all.map((ip) => [`${ip.family} ${ip.value}`, ip])).values()];
}

/** The addresses of a Node in the ranges of a pool, by whether the pool excludes them. */
export interface NodeAddressesInPool {
    /** Addresses that the pool does not hand out: the first 16 of each IP family. */
    readonly kept: readonly IpAddress[];
    /** The others: only an allocation keeps them from Pods. */
    readonly further: readonly IpAddress[];
}

/**
 * Returns the addresses of one Node that lie in the ranges of a pool.
 *
 * @param addresses of one Node, in the order of `nodeAddressesOf`
 */
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

/** Returns the podCIDRs of a Node as text: `spec.podCIDRs`, or `spec.podCIDR` if that is empty. */
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
