import { type Flow, type Match } from "@antrea/openflow";
import { type Family } from "@antrea/ip";
import { lookUpIn, zoneOf } from "../conntrack.ts";
import { ctStateIs, fieldsOf, IpProto } from "../fields.ts";
import { type PipelineInput } from "../inputs.ts";
import { move, partsAre, portMark, Reg, Source, sourceIsEither } from "../registers.ts";
import { type NextTable, type TableUse } from "../part.ts";
import { Priority, Table } from "../tables.ts";

/** Flow tables of datagrams in fragments that begin a connection, for `Pipeline`. */
export const fragmentTables = [
    { table: "FragmentPasses", stage: "services", miss: "next" },
    { table: "FragmentPort", stage: "fragments", miss: "drop" },
] as const satisfies readonly TableUse[];

const begun = ctStateIs({ new: true, trk: true });
const first: Match = { ip_frag: 1 };
const later: Match = { ip_frag: 3 };

/**
 * Flows that load `Reg.port` for all fragments of a datagram that begins a connection from a source that is served. The
 * userspace datapath reassembles a datagram in each pass of connection tracking, and gives back its fragments with one
 * state and mark. Only the first one has a port (miniflow_extract in lib/flow.c of Open vSwitch), so that one has to mark
 * the connection, and the flow that marks is that of the fragment that comes last (lib/ipf.c). Therefore:
 *
 * 1. Copies of the later fragments wait in the zone of ports. All fragments meet in the zone of order, which gives them
 *    back when the last copy waits.
 * 2. The first fragment follows to the zone of ports, where it is the last one, and commits its port as the mark.
 * 3. FragmentPort copies the mark to the register and looks up the connection anew in its own zone.
 *
 * Fragments of one datagram meet only if they were recirculated alike: the pass of order returns to the table that the first
 * lookup leads to. No connection of Pods is in the zone of ports; that of order stays empty.
 */
export function fragmentFlows(
    next: NextTable,
    family: Family,
    { bridging, services }: Pick<PipelineInput, "bridging" | "services">,
): Flow[] {
    const { any, orderZone, portZone } = fieldsOf(family);
    const udp = { ...any, ip_proto: IpProto.udp };
    const served =
        services?.proxyAll === true ? sourceIsEither(Source.pod, Source.gateway) : partsAre([Reg.source, Source.pod]);
    // the protocol of later fragments of IPv6 is 44 here, whatever they carry
    const fragment = { ...(family === 4 ? udp : any), ...served, ...begun };
    const again = { ct_zone: orderZone };
    const meet = { type: "ct", zone: orderZone, table: next.into("connection", family) } as const;
    const toPorts = { type: "ct", zone: portZone, table: Table.FragmentPort } as const;
    const pass = (priority: number, match: Match, actions: Flow["actions"]): Flow => ({
        table: Table.FragmentPasses,
        priority,
        match,
        actions,
    });
    return [
        pass(Priority.normal, { ...fragment, ...later }, [
            { type: "clone", actions: [{ type: "ct", zone: portZone }] },
            meet,
        ]),
        pass(Priority.normal, { ...fragment, ...first }, [meet]),
        pass(Priority.high, { ...fragment, ...later, ...again }, []),
        ...(family === 4 ? [] : [pass(Priority.high, { ...fragment, ...first, ...again }, [toPorts])]),
        pass(Priority.top, { ...fragment, ...udp, ...first, ...again }, [
            {
                ...toPorts,
                commit: true,
                exec: [move({ field: "ct_tp_dst", offset: 0, bits: portMark.bits }, portMark)],
            },
        ]),
        {
            table: Table.FragmentPort,
            priority: Priority.normal,
            match: any,
            actions: [
                move(portMark, Reg.port),
                lookUpIn(zoneOf(family, bridging !== undefined), next.after("FragmentPasses", family)),
            ],
        },
    ];
}
