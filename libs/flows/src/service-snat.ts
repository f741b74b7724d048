import { type Flow } from "@antrea/openflow";
import { type Family, type IpAddress } from "@antrea/ip";
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
 * The address from which the host sees bridged Pods that use a Service: 169.254.0.253 or fc01::aabb:ccdd:eeff, on each
 * Node the same. It leads to the gateway port, whatever MAC address the host writes.
 */
export function serviceSource(family: Family): IpAddress {
    return sources[family];
}

export const serviceSnatTables = [
    { table: "ServiceReply", stage: "lookup", miss: "drop" },
    { table: "ServiceSnat", stage: "portSnat", miss: "next" },
] as const;

/**
 * A bridged Pod reaches Services by the host's translation, but no packet with its own address may go that way: the
 * host would send the answer to the underlay, or drop the packet as one that came in by the wrong port. So the switch
 * translates the source, in a conntrack zone of its own whose mark keeps the Pod's VLAN, and answers are looked up there
 * before they are looked up in the zone of that VLAN. The commit comes with every packet, which restores a connection
 * that only one of the two zones has forgotten.
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
                { type: "ct", zone: snatZone, table: Table.ServiceReply, nat: { kind: "restore" } },
            ],
        },
        {
            table: Table.ServiceReply,
            priority: Priority.normal,
            match: { ...any, ...ctStateIs({ new: false, inv: false, trk: true }) },
            actions: [
                move(CtMark.vlan, Reg.vlan),
                { type: "ct", zone: vlanZone, table: next.into("connection", family) },
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
