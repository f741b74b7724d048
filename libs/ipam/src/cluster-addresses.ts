import { IpError, parseIp, parsePrefix, type IpAddress, type Prefix } from "@antrea/ip";

/** The parts of a Node (core/v1) that have addresses which no pool hands out. */
export interface NodeWithAddresses {
    readonly spec?: { readonly podCIDR?: string; readonly podCIDRs?: readonly string[] };
    readonly status?: { readonly addresses?: readonly { readonly address: string }[] };
}

/** The parts of a ServiceCIDR (networking.k8s.io/v1) that are read here. */
export interface ServiceCidrWithRanges {
    readonly spec?: { readonly cidrs?: readonly string[] };
}

/** How many addresses of each family a Node has at most. Its kubelet reports what it likes, and pools lose them. */
export const maxNodeAddresses = 16;

/** A Node's own addresses, each once, the first 16 of each family. Names are among them too; what is no address can be in no pool. */
export function nodeAddressesOf(node: NodeWithAddresses): readonly IpAddress[] {
    return reported(node)
        .filter(({ at }) => at < maxNodeAddresses)
        .map(({ ip }) => ip);
}

/** What a Node reports beyond its own addresses: nothing keeps these from Pods. */
export function furtherNodeAddressesOf(node: NodeWithAddresses): readonly IpAddress[] {
    return reported(node)
        .filter(({ at }) => at >= maxNodeAddresses)
        .map(({ ip }) => ip);
}

/** `at`: its place among those of its family. */
function reported(node: NodeWithAddresses): readonly { readonly ip: IpAddress; readonly at: number }[] {
    const addresses = readable(node.status?.addresses?.map(({ address }) => address) ?? [], parseIp);
    const unique = new Map(addresses.map((ip) => [`${ip.family} ${ip.value}`, ip]));
    const counts = { 4: 0, 6: 0 };
    return [...unique.values()].map((ip) => ({ ip, at: counts[ip.family]++ }));
}

/** The podCIDRs of a Node as text: `spec.podCIDRs`, or `spec.podCIDR` where that is empty. */
export function podCidrTexts({ spec }: NodeWithAddresses): readonly string[] {
    const { podCIDR, podCIDRs = [] } = spec ?? {};
    return podCIDRs.length > 0 || podCIDR === undefined ? podCIDRs : [podCIDR];
}

/** The podCIDRs of a Node that can be read; host bits are ignored. */
export function podCidrsOf(node: NodeWithAddresses): readonly Prefix[] {
    return readable(podCidrTexts(node), maskedPrefix);
}

/** The ranges of a ServiceCIDR that can be read; host bits are ignored. */
export function serviceCidrsOf({ spec }: ServiceCidrWithRanges): readonly Prefix[] {
    return readable(spec?.cidrs ?? [], maskedPrefix);
}

function maskedPrefix(text: string): Prefix {
    return parsePrefix(text, { hostBits: "mask" });
}

function readable<T>(texts: readonly string[], parse: (text: string) => T): readonly T[] {
    return texts.flatMap((text) => {
        try {
            return [parse(text)];
        } catch (error) {
            if (error instanceof IpError) return [];
            throw error;
        }
    });
}
