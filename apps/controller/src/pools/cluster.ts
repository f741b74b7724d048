import { IpError, parseIp, parsePrefix, type IpAddress, type Prefix } from "@antrea/ip";
import { type Node, type ServiceCidr } from "@antrea/kube";

/** The Node's own addresses. One that cannot be read is left out: it can be in no pool. */
export function addressesOf(node: Node): readonly IpAddress[] {
    return readable(node.status?.addresses?.map(({ address }) => address) ?? [], parseIp);
}

export function podCidrsOf(node: Node): readonly Prefix[] {
    return readable(node.spec?.podCIDRs ?? [], maskedPrefix);
}

export function cidrsOf(services: ServiceCidr): readonly Prefix[] {
    return readable(services.spec?.cidrs ?? [], maskedPrefix);
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
