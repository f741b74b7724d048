import { type Action, type CtAction, type Flow, type Match } from "@antrea/openflow";
import { type Family } from "@antrea/ip";
import { ctStateIs, fieldsOf, IpProto } from "./fields.ts";
import { type BridgingInput } from "./inputs.ts";
import { CtMark, load, move, partsAre, Reg, Source, sourceIsEither, vlanZone } from "./registers.ts";
import { Priority, Table } from "./tables.ts";

const synFlag = 0x002;

/** The match of what no bridged Pod sent. */
export const notBridged: Match = partsAre([Reg.bridged, 0]);

/**
 * Packets that belong to a TCP connection which the switch does not know, sent by a Pod, of this Node or of another:
 * connection tracking was lost with the datapath (a restart of OVS in userspace). Whether the host translates the
 * connection's addresses is not to be seen from them, the host's own tracking knows it; so they, and what follows, pass
 * the host. What bridged Pods send does so only when it is for Pods of the Node's subnet, which may have reached them
 * by a Service.
 */
export function midStream(family: Family): Match {
    return {
        ...fieldsOf(family).any,
        ip_proto: IpProto.tcp,
        tcp_flags: { value: 0, mask: synFlag },
        ...ctStateIs({ new: true, trk: true }),
        ...sourceIsEither(Source.pod, Source.tunnel),
    };
}

/**
 * Every IP packet is looked up in the zone of its family. Invalid ones are dropped where invalid has a meaning: the
 * userspace datapath calls all protocols so that it does not track. Connections are committed with the mark of who
 * began them, after every table that could refuse them.
 *
 * In bridging mode each VLAN has a zone for each family: a packet that the underlay routes from one VLAN to another
 * passes this switch twice.
 */
export function conntrackFlows(families: readonly Family[], bridging: BridgingInput | undefined): Flow[] {
    const isBridging = bridging !== undefined;
    return families.flatMap((family) => [
        lookUp(family, isBridging),
        ...invalid(family),
        established(family, isBridging),
        ...commit(family, bridging),
    ]);
}

function lookUp(family: Family, bridging: boolean): Flow {
    const { any, zoneType } = fieldsOf(family);
    const setZone: Action[] = bridging ? [load(Reg.zoneType, zoneType)] : [];
    return {
        table: Table.ConntrackZone,
        priority: Priority.normal,
        match: any,
        actions: [...setZone, { type: "ct", zone: zoneOf(family, bridging), table: Table.ConntrackState }],
    };
}

function zoneOf(family: Family, bridging: boolean): CtAction["zone"] {
    return bridging ? vlanZone : fieldsOf(family).zone;
}

function invalid(family: Family): Flow[] {
    const { any, icmp } = fieldsOf(family);
    const tracked = [{ ...any, ip_proto: IpProto.tcp }, { ...any, ip_proto: IpProto.udp }, icmp];
    return tracked.map((match) => ({
        table: Table.ConntrackState,
        priority: Priority.high,
        match: { ...match, ...ctStateIs({ inv: true, trk: true }) },
        actions: [],
    }));
}

function established(family: Family, bridging: boolean): Flow {
    return {
        table: Table.ConntrackState,
        priority: Priority.normal,
        match: { ...fieldsOf(family).any, ...ctStateIs({ new: false, inv: false, trk: true }) },
        actions: [],
        gotoTable: bridging ? Table.BridgedForwarding : Table.L3Forwarding,
    };
}

// Without `table` the packet goes on at once: the commit costs no second pass through the datapath.
function commit(family: Family, bridging: BridgingInput | undefined): Flow[] {
    const zone = zoneOf(family, bridging !== undefined);
    const source = move(Reg.source, CtMark.source);
    const gotoTable = bridging === undefined ? Table.Output : Table.ServiceSnat;
    const viaHost =
        bridging === undefined
            ? [{}]
            : [notBridged, partsAre([Reg.bridged, 1], [Reg.outputPort, bridging.host.ofPort])];
    return [
        ...viaHost.map((match) => ({
            table: Table.ConntrackCommit,
            priority: Priority.high,
            match: { ...midStream(family), ...match },
            actions: [{ type: "ct", commit: true, zone, exec: [source, load(CtMark.viaHost, 1)] } as const],
            gotoTable,
        })),
        {
            table: Table.ConntrackCommit,
            priority: Priority.normal,
            match: { ...fieldsOf(family).any, ...ctStateIs({ new: true, trk: true }) },
            actions: [{ type: "ct", commit: true, zone, exec: [source] }],
            gotoTable,
        },
    ];
}
