import { AntreaError } from "@antrea/errors";
import { prefixAt, prefixContains, type IpAddress, type Prefix } from "@antrea/ip";
import type { Link } from "@antrea/netlink";

/** The properties of its own Node that the agent needs before it can wire a Pod. */
export interface NodeConfig {
    readonly name: string;
    /** At most one per family, in the order of `spec.podCIDRs`: the first family is the primary one of Pods. */
    readonly podPrefixes: readonly Prefix[];
    /** The first address of each podCIDR, assigned to the gateway interface. */
    readonly gatewayIps: readonly IpAddress[];
    /** The transport interface, as it was at startup. */
    readonly transport: Link;
}

/**
 * - `NO_NODE`: the API server has no Node of this name.
 * - `SUBNET_LOST`: the Node object is gone, or no longer has valid podCIDRs.
 * - `POD_CIDR_CHANGED`: the Node has other podCIDRs than at the start; the process must start again.
 * - `NO_TRANSPORT_INTERFACE`: no interface fits, see `findTransport`; the message names the key to change.
 */
export class NodeConfigError extends AntreaError<
    "NO_NODE" | "SUBNET_LOST" | "POD_CIDR_CHANGED" | "NO_TRANSPORT_INTERFACE"
> {}

/** The gateway address of a podCIDR, of either family: the one after its network address. */
export function gatewayIpOf(prefix: Prefix): IpAddress {
    return prefixAt(prefix, 1n);
}

/** The inputs of `findTransport`: what the Node has and what is configured. */
export interface TransportInput {
    readonly nodeName: string;
    /** The InternalIPs of the Node object. */
    readonly nodeIps: readonly IpAddress[];
    readonly links: readonly Link[];
    /** Addresses of the links, by link index. */
    readonly addresses: readonly { readonly index: number; readonly ip: IpAddress }[];
    /** Interfaces created by the agent: never the transport interface, although they may have an address. */
    readonly own: Readonly<Record<"hostGateway" | "ovsBridge", string>>;
    /** As configured; "" if it is not. */
    readonly transportInterface: string;
    /** As configured; empty if it is not. */
    readonly transportInterfaceCidrs: readonly Prefix[];
}

/**
 * Finds the transport interface: the one named `transportInterface`, else that of the first of `addresses` in
 * `transportInterfaceCidrs`, or without any of these, among the Node's InternalIPs. Throws NodeConfigError
 * `NO_TRANSPORT_INTERFACE`, also if only an interface of the agent itself fits. Pure function.
 */
export function findTransport(input: TransportInput): Link {
    const { nodeName, own } = input;
    const ownKey = (name: string): string | undefined => Object.entries(own).find((entry) => entry[1] === name)?.[0];
    const [candidates, ownLinks] = [false, true].map((isOwn) =>
        input.links.filter(({ name }) => (ownKey(name) !== undefined) === isOwn),
    ) as [Link[], Link[]];
    const refused = (message: string): NodeConfigError =>
        new NodeConfigError("NO_TRANSPORT_INTERFACE", "environment", message);
    const chosen = input.transportInterface;
    if (chosen !== "") {
        const link = candidates.find(({ name }) => name === chosen);
        if (link !== undefined) return link;
        const names = candidates.map(({ name }) => name).join(", ");
        const key = ownKey(chosen);
        throw refused(
            key === undefined
                ? `transportInterface: no interface ${chosen} on Node ${nodeName}; it has ${names}`
                : `transportInterface: ${chosen} is the interface that ${key} names; Node ${nodeName} has ${names} beside it`,
        );
    }
    const byCidr = input.transportInterfaceCidrs.length > 0;
    const wanted = (ip: IpAddress): boolean =>
        byCidr
            ? input.transportInterfaceCidrs.some((prefix) => prefixContains(prefix, ip))
            : input.nodeIps.some((nodeIp) => nodeIp.family === ip.family && nodeIp.value === ip.value);
    const among = (links: readonly Link[]): Link | undefined => {
        const address = input.addresses.find(({ index, ip }) => wanted(ip) && links.some((one) => one.index === index));
        return links.find(({ index }) => index === address?.index);
    };
    const link = among(candidates);
    if (link !== undefined) return link;
    const none = byCidr
        ? `transportInterfaceCIDRs: no interface of Node ${nodeName} has an address in them`
        : `no interface of Node ${nodeName} has one of its InternalIPs`;
    const taken = among(ownLinks)?.name;
    if (taken === undefined) throw refused(byCidr ? none : `${none}; set transportInterface`);
    const key = ownKey(taken) ?? "";
    throw refused(
        `${none} but ${taken}, which ${key} names: that is an interface that antrea-agent makes itself; ${byCidr ? "correct them, or, where it is the Node's own, " : ""}give ${key} a name that no interface of the Node has`,
    );
}
