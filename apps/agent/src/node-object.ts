import { macAnnotation, transportAnnotation } from "@antrea/crd";
import { AntreaError } from "@antrea/errors";
import { formatPrefix, parseIp, parseMac, parsePrefix, prefixSize, type IpAddress, type Prefix } from "@antrea/ip";

/** The parts of a Node object that the agent reads (core/v1 Node). */
export interface NodeObject {
    readonly metadata?: {
        readonly name?: string;
        readonly uid?: string;
        readonly annotations?: Readonly<Record<string, string>>;
    };
    readonly spec?: { readonly podCIDR?: string; readonly podCIDRs?: readonly string[] };
    readonly status?: { readonly addresses?: readonly { readonly type: string; readonly address: string }[] };
}

export class NodeObjectError extends AntreaError<"NO_POD_CIDR" | "BAD_POD_CIDR"> {}

/** The podCIDRs of a Node, checked. Throws NodeObjectError. */
export function podPrefixesOf(node: NodeObject): readonly Prefix[] {
    const name = node.metadata?.name ?? "";
    const texts = node.spec?.podCIDRs ?? (node.spec?.podCIDR === undefined ? [] : [node.spec.podCIDR]);
    if (texts.length === 0) {
        throw new NodeObjectError(
            "NO_POD_CIDR",
            "environment",
            `Node ${name} has no spec.podCIDRs: enable nodeIPAM of Antrea or the Node IPAM of kube-controller-manager`,
        );
    }
    const prefixes = texts.map((text) => {
        try {
            return parsePrefix(text);
        } catch (cause) {
            throw new NodeObjectError(
                "BAD_POD_CIDR",
                "peer",
                `Node ${name}: spec.podCIDRs has ${text}, which is not a CIDR`,
                { cause },
            );
        }
    });
    for (const prefix of prefixes) {
        // The network address, the gateway, one Pod, and IPv4's broadcast address.
        if (prefixSize(prefix) >= 4n) continue;
        throw new NodeObjectError(
            "BAD_POD_CIDR",
            "peer",
            `Node ${name}: spec.podCIDRs has ${formatPrefix(prefix)}, which has no room for a gateway and a Pod`,
        );
    }
    const families = new Set(prefixes.map((prefix) => prefix.family));
    if (families.size !== prefixes.length) {
        throw new NodeObjectError(
            "BAD_POD_CIDR",
            "peer",
            `Node ${name}: spec.podCIDRs ${texts.join(",")} has two of one address family; at most one IPv4 and one IPv6 are allowed`,
        );
    }
    return prefixes;
}

/** The InternalIPs of a Node; text that is no address is left out. */
export function internalIpsOf(node: NodeObject): readonly IpAddress[] {
    const addresses = (node.status?.addresses ?? []).filter((address) => address.type === "InternalIP");
    return readableIps(addresses.map(({ address }) => address));
}

/** The addresses by which other Nodes reach a Node: those that it announces, else its InternalIPs. */
export function transportIpsOf(node: NodeObject): readonly IpAddress[] {
    const announced = readableIps(node.metadata?.annotations?.[transportAnnotation]?.split(",") ?? []);
    return announced.length > 0 ? announced : internalIpsOf(node);
}

/** The MAC address that a Node in bridging mode announces; undefined without one that can be read. */
export function bridgedMacOf(node: NodeObject): Uint8Array | undefined {
    const text = node.metadata?.annotations?.[macAnnotation];
    if (text === undefined) return undefined;
    try {
        return parseMac(text);
    } catch {
        return undefined;
    }
}

function readableIps(texts: readonly string[]): readonly IpAddress[] {
    return texts.flatMap((text) => {
        try {
            return [parseIp(text)];
        } catch {
            return [];
        }
    });
}
