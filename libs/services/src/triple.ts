import { formatIp, type IpAddress } from "@antrea/ip";

/** Transport protocol of a port. */
export type Protocol = "TCP" | "UDP" | "SCTP";

/** The protocol of this name, TCP for none; undefined if there is none such. */
export function protocolOf(name = "TCP"): Protocol | undefined {
    return name === "TCP" || name === "UDP" || name === "SCTP" ? name : undefined;
}

/** True for a port number that a packet can have as its destination. */
export function isPort(port: number | undefined): port is number {
    return port !== undefined && Number.isInteger(port) && port >= 1 && port <= 0xffff;
}

/** What at most one Service has: an address, or the NodePorts of a family, with protocol and port, as text. */
export function tripleOf(address: IpAddress | "node4" | "node6", protocol: Protocol, port: number): string {
    return `${typeof address === "string" ? address : formatIp(address)} ${protocol} ${port}`;
}
