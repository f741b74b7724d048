import { type FieldName } from "@antrea/openflow";
import { type Protocol } from "@antrea/services";
import { IpProto } from "../fields.ts";

/** IP protocol number, and the match field of the destination port. */
export interface ProtocolFields {
    readonly ip_proto: number;
    readonly portField: FieldName;
}

const fields = {
    TCP: { ip_proto: IpProto.tcp, portField: "tcp_dst" },
    UDP: { ip_proto: IpProto.udp, portField: "udp_dst" },
    SCTP: { ip_proto: IpProto.sctp, portField: "sctp_dst" },
} as const satisfies Readonly<Record<Protocol, ProtocolFields>>;

/** Returns the fields of a transport protocol. */
export function protocolFields(protocol: Protocol): ProtocolFields {
    return fields[protocol];
}

/** Fields of all transport protocols. */
export const allProtocols: readonly ProtocolFields[] = Object.values(fields);
