import { type Flow } from "@antrea/openflow";
import { type Family, type IpAddress } from "@antrea/ip";
import { lookUpIn } from "./conntrack.ts";
import { ctStateIs, fieldsOf, toIp } from "./fields.ts";
import { type PipelineInput } from "./inputs.ts";
import { CtMark, load, move, partsAre, Reg, Source, vlanZone } from "./registers.ts";
import { type NextTable, type PipelinePart } from "./part.ts";
import { Priority, Table } from "./tables.ts";

const sources: Readonly<Record<Family, IpAddress>> = {
    4: { family: 4, value: 0xa9fe_00fdn },
    6: { family: 6, value: 0xfc01_0000_0000_0000_0000_aabb_ccdd_eeffn },
};

/**
 * Returns the source address that the host sees for bridged Pods that use a Service: 169.254.0.253 or
 * fc01::aabb:ccdd:eeff, the same on each Node. Packets to it reach the gateway port, whatever MAC address the host
 * sets.
 */
export function serviceSource(family: Family): IpAddress {
    return sources[family];
}

/** Flow tables of source NAT for Services, for `Pipeline`: lookup of answers, translation. */
export const serviceSnatTables = [
    { table: "ServiceReply", stage: "lookup", miss: "drop" },
    { table: "ServiceSnat", stage: "portSnat", miss: "next" },
] as const;

/**
 * Source NAT for packets of bridged Pods to Services, which the host translates. With the Pod's own address the host
 * would send the answer to the underlay, or drop the packet because of its ingress interface. The switch therefore
 * translates the source, in a conntrack zone of its own whose mark stores the Pod's VLAN; answers are looked up there
 * first, then in the zone of that VLAN. Every packet commits, which restores a connection that only one of the two
 * zones has lost.
 */
export function serviceSnatPart({ families }: Pick<PipelineInput, "families">): PipelinePart {
    return { tables: serviceSnatTables, flows: (next) => families.flatMap((family) => serviceSnatFlows(next, family)) };
}

function serviceSnatFlows(next: NextTable, family: Family): Flow[] {
    const { any, zoneType, snatZone } = fieldsOf(family);
    const source = serviceSource(family);
    return [
        {
            table: Table.ConntrackZone,
            priority: Priority.high,
            match: { ...toIp(source), ...partsAre([Reg.source, Source.gateway]) },
            actions: [
                load(Reg.zoneType, zoneType),
                lookUpIn(snatZone, Table.ServiceReply),
            ],
        },
        {
            table: Table.ServiceReply,
            priority: Priority.normal,
            match: { ...any, ...ctStateIs({ new: false, inv: false, trk: true }) },
            actions: [
                move(CtMark.vlan, Reg.vlan),
                lookUpIn(vlanZone, next.into("connection", family)),
            ],
        },
        {
            table: Table.ServiceSnat,
            priority: Priority.normal,
            match: { ...any, ...partsAre([Reg.toService, 1]) },
            actions: [
                {
                    type: "ct",
                    commit: true,
                    zone: snatZone,
                    nat: { kind: "src", min: source },
                    exec: [move(Reg.vlan, CtMark.vlan)],
                },
            ],
            gotoTable: next.into("output", family),
        },
    ];
}
