import { AntreaError } from "@antrea/errors";
import { prefixAt, prefixContains, type IpAddress, type Prefix } from "@antrea/ip";
import type { Link } from "@antrea/netlink";

/** What the agent must know of its own Node before it can wire a Pod. */
export interface NodeConfig {
    readonly name: string;
    /** At most one a family, in the order of `spec.podCIDRs`: the first family is the Pods' primary one. */
    readonly podPrefixes: readonly Prefix[];
    /** The first address of each of the podCIDRs, on the gateway interface. */
    readonly gatewayIps: readonly IpAddress[];
    /** The interface to other Nodes, as it was at the start. */
    readonly transport: Link;
}

/** `SUBNET_LOST`: the Node object is gone, or has no podCIDRs any more. */
export class NodeConfigError extends AntreaError<
    "NO_NODE" | "SUBNET_LOST" | "POD_CIDR_CHANGED" | "NO_TRANSPORT_INTERFACE"
> {}

/** The first address of a podCIDR: the gateway's. */
export function gatewayIpOf(prefix: Prefix): IpAddress {
    return prefixAt(prefix, 1n);
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
