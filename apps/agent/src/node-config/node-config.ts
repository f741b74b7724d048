import { AntreaError } from "@antrea/errors";
import {
    formatPrefix,
    parseIp,
    parsePrefix,
    prefixAt,
    prefixContains,
    prefixSize,
    type IpAddress,
    type Prefix,
} from "@antrea/ip";
import type { Link } from "@antrea/netlink";

/** The parts of a Node object that the agent reads (core/v1 Node). */
export interface NodeObject {
    readonly metadata?: { readonly name?: string; readonly uid?: string };
    readonly spec?: { readonly podCIDR?: string; readonly podCIDRs?: readonly string[] };
    readonly status?: { readonly addresses?: readonly { readonly type: string; readonly address: string }[] };
}

/** What the agent must know of its own Node before it can wire a Pod. */
export interface NodeConfig {
    readonly name: string;
    /** At most one a family, in the order of `spec.podCIDRs`: the first family is the Pods' primary one. */
    readonly podPrefixes: readonly Prefix[];
    /** The first address of each of the podCIDRs, on the gateway interface. */
    readonly gatewayIps: readonly IpAddress[];
    readonly transport: { readonly name: string; readonly index: number };
    readonly mtu: number;
}

export class NodeConfigError extends AntreaError<
    "NO_NODE" | "NO_POD_CIDR" | "BAD_POD_CIDR" | "POD_CIDR_CHANGED" | "NO_TRANSPORT_INTERFACE"
> {}

/** The podCIDRs of a Node, checked. Throws NodeConfigError. */
export function podPrefixesOf(node: NodeObject): readonly Prefix[] {
    const name = node.metadata?.name ?? "";
    const texts = node.spec?.podCIDRs ?? (node.spec?.podCIDR === undefined ? [] : [node.spec.podCIDR]);
    if (texts.length === 0) {
        throw new NodeConfigError(
            "NO_POD_CIDR",
            "environment",
            `Node ${name} has no spec.podCIDRs: enable nodeIPAM of Antrea or the Node IPAM of kube-controller-manager`,
        );
    }
    const prefixes = texts.map((text) => {
        try {
            return parsePrefix(text);
        } catch (cause) {
            throw new NodeConfigError(
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
        throw new NodeConfigError(
            "BAD_POD_CIDR",
            "peer",
            `Node ${name}: spec.podCIDRs has ${formatPrefix(prefix)}, which has no room for a gateway and a Pod`,
        );
    }
    const families = new Set(prefixes.map((prefix) => prefix.family));
    if (families.size !== prefixes.length) {
        throw new NodeConfigError(
            "BAD_POD_CIDR",
            "peer",
            `Node ${name}: spec.podCIDRs ${texts.join(",")} has two of one address family; at most one IPv4 and one IPv6 are allowed`,
        );
    }
    return prefixes;
}

/** The first address of a podCIDR: the gateway's. */
export function gatewayIpOf(prefix: Prefix): IpAddress {
    return prefixAt(prefix, 1n);
}

/** The InternalIPs of a Node; text that is no address is left out. */
export function internalIpsOf(node: NodeObject): readonly IpAddress[] {
    return (node.status?.addresses ?? [])
        .filter((address) => address.type === "InternalIP")
        .flatMap((address) => {
            try {
                return [parseIp(address.address)];
            } catch {
                return [];
            }
        });
}

export interface TransportInput {
    readonly nodeName: string;
    readonly nodeIps: readonly IpAddress[];
    readonly links: readonly Link[];
    readonly addresses: readonly { readonly index: number; readonly ip: IpAddress }[];
    /** Never the transport interface, although it may carry an address. */
    readonly gatewayName: string;
    readonly transportInterface: string;
    readonly transportInterfaceCidrs: readonly Prefix[];
}

/** The interface that Pod traffic leaves the Node by: the configured one, else the one with the Node's InternalIP. */
export function findTransport(input: TransportInput): Link {
    const candidates = input.links.filter((link) => link.name !== input.gatewayName);
    if (input.transportInterface !== "") {
        const link = candidates.find((candidate) => candidate.name === input.transportInterface);
        if (link !== undefined) return link;
        throw new NodeConfigError(
            "NO_TRANSPORT_INTERFACE",
            "environment",
            `transportInterface: no interface ${input.transportInterface} on Node ${input.nodeName}; it has ${candidates.map((link) => link.name).join(", ")}`,
        );
    }
    const wanted = (ip: IpAddress): boolean =>
        input.transportInterfaceCidrs.length > 0
            ? input.transportInterfaceCidrs.some((prefix) => prefixContains(prefix, ip))
            : input.nodeIps.some((nodeIp) => nodeIp.family === ip.family && nodeIp.value === ip.value);
    const address = input.addresses.find(
        (candidate) => wanted(candidate.ip) && candidates.some((link) => link.index === candidate.index),
    );
    const link = candidates.find((candidate) => candidate.index === address?.index);
    if (link !== undefined) return link;
    throw new NodeConfigError(
        "NO_TRANSPORT_INTERFACE",
        "environment",
        input.transportInterfaceCidrs.length > 0
            ? `transportInterfaceCIDRs: no interface of Node ${input.nodeName} has an address in them`
            : `no interface of Node ${input.nodeName} has one of its InternalIPs; set transportInterface`,
    );
}
