import { type Match } from "@antrea/openflow";
import { formatIp, type IpAddress } from "@antrea/ip";
import { type ServedPort } from "@antrea/services";
import { fieldsOf, toIp } from "../fields.ts";
import { partsAre, Reg } from "../registers.ts";
import { hasFragments, protocolFields } from "./protocols.ts";
import { type ServicePortInput } from "./service-port.ts";

/**
 * Returns what flows match that a port of a Service with affinity may have learned, but for the client's address: one match
 * for each of its addresses with their stand-ins, and one for its NodePort, of which flows match the address too.
 */
export function learnedMatches(
    port: Pick<ServedPort, "addresses" | "family" | "nodePort" | "port" | "protocol">,
    { keepsFragments, proxyAll, standIns }: Pick<ServicePortInput, "keepsFragments" | "proxyAll" | "standIns">,
): readonly Match[] {
    const { addresses, family, nodePort, protocol } = port;
    const { ip_proto, portField } = protocolFields(protocol);
    const at = (number: number): Match =>
        hasFragments(protocol, keepsFragments === true)
            ? { ...fieldsOf(family).any, ...partsAre([Reg.port, number]) }
            : { ...fieldsOf(family).any, ip_proto, [portField]: number };
    const ips = addresses.flatMap(({ ip, kind }): readonly IpAddress[] => {
        const standIn = kind === "cluster" ? undefined : standIns.get(formatIp(ip));
        return standIn === undefined ? [ip] : [ip, standIn];
    });
    return [
        ...ips.map((ip) => ({ ...at(port.port), ...toIp(ip) })),
        ...(proxyAll && nodePort !== undefined ? [at(nodePort.port)] : []),
    ];
}
