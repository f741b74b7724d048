import { type FieldName, type Match } from "@antrea/openflow";
import { type Protocol } from "@antrea/services";
import { IpProto } from "../fields.ts";
import { partsAre, Reg } from "../registers.ts";

/** IP protocol number, and the match fields of the destination port and of the source port. */
export interface ProtocolFields {
    readonly ip_proto: number;
    readonly portField: FieldName;
    readonly sourcePortField: FieldName;
}

const fields = {
    TCP: { ip_proto: IpProto.tcp, portField: "tcp_dst", sourcePortField: "tcp_src" },
    UDP: { ip_proto: IpProto.udp, portField: "udp_dst", sourcePortField: "udp_src" },
    SCTP: { ip_proto: IpProto.sctp, portField: "sctp_dst", sourcePortField: "sctp_src" },
} as const satisfies Readonly<Record<Protocol, ProtocolFields>>;

/** Returns the fields of a transport protocol. */
export function protocolFields(protocol: Protocol): ProtocolFields {
    return fields[protocol];
}

/** Fields of all transport protocols. */
export const allProtocols: readonly ProtocolFields[] = Object.values(fields);

/**
 * Returns the matches of packets that begin a connection to a port, without their family: those of whole packets and, where
 * datagrams come in fragments, of all fragments of these.
 *
 * @param keepsFragments see `ServicesInput`
 */
export function toPort(protocol: Protocol, port: number, keepsFragments: boolean): readonly Match[] {
    const { ip_proto, portField } = protocolFields(protocol);
    const whole = { ip_proto, [portField]: port };
    return hasFragments(protocol, keepsFragments) ? [whole, partsAre([Reg.port, port])] : [whole];
}

/** Whether packets that begin a connection may come in fragments, which `Reg.port` is for. */
export function hasFragments(protocol: Protocol, keepsFragments: boolean): boolean {
    return protocol === "UDP" && keepsFragments;
}
