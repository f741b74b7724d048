import { formatIp, type Family, type IpAddress } from "@antrea/ip";
import type { Endpoint, Protocol, ServedPort, ServedService } from "@antrea/services";

/** The sets and maps of the table, by family; see `ruleset`. */
export const setNames = ["cluster", "external", "errors", "nodeports", "own", "local", "localports"] as const;

/** One element of a set, or of a map with its value ("" in a set). */
export interface RuleElement {
    readonly set: string;
    readonly element: string;
    readonly value: string;
}

const numbers: Readonly<Record<Protocol, number>> = { TCP: 6, UDP: 17, SCTP: 132 };

/** The name of a set of a family. */
export function setName(name: (typeof setNames)[number], family: Family): string {
    return `${name}${family}`;
}

/**
 * The elements of one Service: of its ClusterIPs, of its external addresses, of its NodePorts, and the translations of
 * those of a Service with policy Local to an endpoint that is the host itself.
 *
 * @param standIns by external address that is the Node's own
 */
export function elementsOf(
    service: Pick<ServedService, "ports">,
    standIns: ReadonlyMap<string, IpAddress>,
): readonly RuleElement[] {
    return service.ports.flatMap((port) => [
        ...port.addresses.flatMap(({ kind, ip, outside }) => {
            const element = `${formatIp(ip)} . ${numbers[port.protocol]} . ${port.port}`;
            if (kind === "cluster") return [one(port, "cluster", element)];
            const standIn = standIns.get(formatIp(ip));
            // the host does not know the permitted clients
            const isClosed = kind === "loadBalancer" && port.sourceRanges !== undefined;
            const host = outside === "local" && !isClosed ? hostEndpoint(port) : undefined;
            return [
                one(port, "external", element),
                ...(standIn === undefined ? [] : [one(port, "own", element, formatIp(standIn))]),
                host === undefined
                    ? // as fields of the packet that an ICMP error carries, which have no types of nft
                      one(port, "errors", [ip.value, numbers[port.protocol], port.port].map(hex).join(" . "))
                    : // ICMP errors are the host's too, as it tracks these connections
                      one(port, "local", element, targetOf(host)),
            ];
        }),
        ...nodePortElements(port),
    ]);
}

function nodePortElements(port: ServedPort): readonly RuleElement[] {
    const { nodePort, protocol } = port;
    if (nodePort === undefined) return [];
    const element = `${numbers[protocol]} . ${nodePort.port}`;
    const host = nodePort.outside === "local" ? hostEndpoint(port) : undefined;
    return [
        one(port, "nodeports", element),
        ...(host === undefined ? [] : [one(port, "localports", element, targetOf(host))]),
    ];
}

/** The first of the local endpoints if all of them are the host: through OVS it would not see the client's address. */
function hostEndpoint({ endpoints: { local } }: ServedPort): Endpoint | undefined {
    return local.every(({ host }) => host) ? local[0] : undefined;
}

function hex(value: number | bigint): string {
    return `0x${value.toString(16)}`;
}

function targetOf({ ip, port }: Endpoint): string {
    return `${formatIp(ip)} . ${port}`;
}

function one(
    { family }: Pick<ServedPort, "family">,
    name: (typeof setNames)[number],
    element: string,
    value = "",
): RuleElement {
    return { set: setName(name, family), element, value };
}
