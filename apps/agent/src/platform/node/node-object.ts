import { macAnnotation, transportAnnotation } from "@antrea/crd";
import { AntreaError } from "@antrea/errors";
import {
    formatPrefix,
    parseIp,
    parseMac,
    parsePrefix,
    prefixContains,
    prefixSize,
    quote,
    type IpAddress,
    type Prefix,
} from "@antrea/ip";
import { podCidrTexts } from "@antrea/ipam";

/**
 * The parts of a Node object that the agent reads (core/v1 Node); a reduced object of the informer and a stored one
 * both fit.
 */
export interface NodeObject {
    readonly metadata?: {
        readonly name?: string;
        readonly uid?: string;
        readonly annotations?: Readonly<Record<string, string>>;
    };
    readonly spec?: { readonly podCIDR?: string; readonly podCIDRs?: readonly string[] };
    readonly status?: { readonly addresses?: readonly { readonly type: string; readonly address: string }[] };
}

class NodeObjectError extends AntreaError<"NO_POD_CIDR" | "BAD_POD_CIDR"> {}

/**
 * The validated podCIDRs of a Node, in their order, at most one per family. Throws NodeObjectError: `NO_POD_CIDR` if it
 * has none; `BAD_POD_CIDR` if one is no CIDR or has fewer than 4 addresses, or if two have one family.
 */
export function podPrefixesOf(node: NodeObject): readonly Prefix[] {
    const name = node.metadata?.name ?? "";
    const texts = podCidrTexts(node);
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
                "remote",
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
            "remote",
            `Node ${name}: spec.podCIDRs has ${formatPrefix(prefix)}, which has no room for a gateway and a Pod`,
        );
    }
    const families = new Set(prefixes.map((prefix) => prefix.family));
    if (families.size !== prefixes.length) {
        throw new NodeObjectError(
            "BAD_POD_CIDR",
            "remote",
            `Node ${name}: spec.podCIDRs ${texts.join(",")} has two of one address family; at most one IPv4 and one IPv6 are allowed`,
        );
    }
    return prefixes;
}

/** The InternalIPs of a Node, in their order; invalid ones are skipped. Empty if it has none. */
export function internalIpsOf(node: NodeObject): readonly IpAddress[] {
    const addresses = (node.status?.addresses ?? []).filter((address) => address.type === "InternalIP");
    return readableIps(addresses.map(({ address }) => address));
}

/**
 * The addresses by which other Nodes reach a Node: those that it announces (`transportAnnotation`, separated by
 * commas), else its InternalIPs. Invalid and non-unicast addresses are skipped; empty if none is left.
 */
export function transportIpsOf(node: NodeObject): readonly IpAddress[] {
    const announced = readableIps(node.metadata?.annotations?.[transportAnnotation]?.split(",") ?? []).filter(
        isStation,
    );
    return announced.length > 0 ? announced : internalIpsOf(node).filter(isStation);
}

/**
 * The MAC address that a Node in bridging mode announces (`macAnnotation`), as 6 bytes, or why it cannot be used;
 * neither if it announces none. Only the address of one station is accepted.
 */
export function bridgedMacOf(node: NodeObject): {
    readonly mac?: Uint8Array;
    /** Names the annotation, its value and the violated rule. */
    readonly problem?: string;
} {
    const text = node.metadata?.annotations?.[macAnnotation];
    if (text === undefined) return {};
    const refuse = (rule: string) => ({ problem: `its annotation ${macAnnotation} is ${quote(text)}: ${rule}` });
    let mac: Uint8Array;
    try {
        mac = parseMac(text);
    } catch {
        return refuse("it must be six pairs of hexadecimal digits with colons between");
    }
    if (((mac[0] ?? 0) & 1) === 1) return refuse("it must be the address of one station, not a multicast address");
    if (mac.every((byte) => byte === 0)) return refuse("it must be the address of one station, not zero");
    return { mac };
}

const noStations = ["0.0.0.0/32", "224.0.0.0/4", "255.255.255.255/32", "::/128", "ff00::/8"].map((text) =>
    parsePrefix(text),
);

/** Whether a Node can have the address: flows and routes require a unicast address of one host. */
function isStation(ip: IpAddress): boolean {
    return !noStations.some((prefix) => prefix.family === ip.family && prefixContains(prefix, ip));
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
