import { type Action, type Flow, type Match } from "@antrea/openflow";
import { type Family } from "@antrea/ip";
import { lookUpIn, zoneOf } from "../conntrack.ts";
import { ctStateIs, fieldsOf, toIp } from "../fields.ts";
import { type Gateway, type PipelineInput } from "../inputs.ts";
import { CtMark, load, move, partsAre, Reg, Source, sourceIsEither, vlanZone } from "../registers.ts";
import { type NextTable } from "../part.ts";
import { Priority, Table } from "../tables.ts";
import { serviceSource } from "./addresses.ts";
import { allProtocols } from "./protocols.ts";

const fromTunnel = partsAre([Reg.source, Source.tunnel]);

/** Types of ICMP errors that carry the packet that caused them (RFC 792, RFC 4443). */
const errorTypes: Readonly<Record<Family, readonly number[]>> = { 4: [3, 11, 12], 6: [1, 2, 3, 4] };

/**
 * Flows of bridging mode without Services in the switch: packets of the host to the virtual source are looked up in the
 * zone of the source NAT, then in the zone of the VLAN that this one's mark has.
 */
export function returnFlows(next: NextTable, family: Family): Flow[] {
    return [
        {
            table: Table.ConntrackZone,
            priority: Priority.high,
            match: { ...toIp(serviceSource(family)), ...partsAre([Reg.source, Source.gateway]) },
            actions: untranslate(family, true),
        },
        inVlanOfMark(next, family),
    ];
}

/**
 * Flows for the lookup of answers in the zone of the source NAT first: those to the virtual source, and those from tunnels to
 * the gateway at one of the ports that the source NAT uses. ICMP errors have no port, and later fragments show none.
 * What has no entry there is for the host itself. After that comes the lookup in the packet's own zone.
 */
export function unSnatFlows(
    next: NextTable,
    family: Family,
    { gateway, bridging, services }: Pick<PipelineInput, "gateway" | "bridging" | "services">,
): Flow[] {
    const isBridging = bridging !== undefined;
    const toSource = { ...toIp(serviceSource(family)), ...sourceIsEither(Source.pod, Source.gateway) };
    const isTranslated = services?.proxyAll === true && services.tunnel !== undefined;
    return [
        ...[toSource, ...(isTranslated ? toGateway(family, gateway) : [])].map((match) => ({
            table: Table.UnSnat,
            priority: Priority.normal,
            match,
            actions: untranslate(family, isBridging),
        })),
        ...(isBridging ? [inVlanOfMark(next, family)] : []),
        {
            table: Table.ServiceReply,
            priority: Priority.low,
            match: fieldsOf(family).any,
            actions: [lookUpIn(zoneOf(family, isBridging), next.into("connection", family))],
        },
    ];
}

function toGateway(family: Family, { ips }: Gateway): Match[] {
    const { icmp } = fieldsOf(family);
    const type = family === 4 ? "icmpv4_type" : "icmpv6_type";
    return ips
        .filter((ip) => ip.family === family)
        .flatMap((ip) => {
            const match = { ...fromTunnel, ...toIp(ip) };
            return [
                ...allProtocols.map(({ ip_proto, portField }) => ({
                    ...match,
                    ip_proto,
                    [portField]: { value: 0, mask: 0x8000 },
                })),
                ...errorTypes[family].map((value) => ({ ...match, ...icmp, [type]: value })),
                { ...match, ip_frag: { value: 1, mask: 1 } },
            ];
        });
}

function untranslate(family: Family, isBridging: boolean): Action[] {
    const { zoneType, snatZone } = fieldsOf(family);
    const lookUp = lookUpIn(snatZone, Table.ServiceReply);
    return isBridging ? [load(Reg.zoneType, zoneType), lookUp] : [lookUp];
}

function inVlanOfMark(next: NextTable, family: Family): Flow {
    return {
        table: Table.ServiceReply,
        priority: Priority.normal,
        match: { ...fieldsOf(family).any, ...ctStateIs({ new: false, inv: false, trk: true }) },
        actions: [move(CtMark.vlan, Reg.vlan), lookUpIn(vlanZone, next.into("connection", family))],
    };
}
