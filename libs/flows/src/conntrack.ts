import { type Action, type CtAction, type Flow } from "@antrea/openflow";
import { type Family } from "@antrea/ip";
import { ctStateIs, fieldsOf, IpProto } from "./fields.ts";
import { type BridgingInput, type PipelineInput } from "./inputs.ts";
import { midStream, notBridged } from "./mid-stream.ts";
import { CtMark, load, move, partsAre, Reg, vlanZone } from "./registers.ts";
import { Priority, Table, type TableId } from "./tables.ts";

const setSource = move(Reg.source, CtMark.source);

/**
 * Every IP packet is looked up in the zone of its family. Invalid ones are dropped where invalid has a meaning: the
 * userspace datapath calls all protocols so that it does not track. Connections are committed with the mark of who
 * began them, after every table that could refuse them.
 *
 * In bridging mode each VLAN has a zone for each family: a packet that the underlay routes from one VLAN to another
 * passes this switch twice.
 */
export function conntrackFlows({ families, bridging, forgetsConnections }: PipelineInput): Flow[] {
    const isBridging = bridging !== undefined;
    return families.flatMap((family) => [
        lookUp(family, isBridging),
        ...invalid(family),
        established(family, isBridging),
        ...(forgetsConnections ? commitMidStream(family, bridging) : []),
        commit(family, bridging !== undefined),
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
function commit(family: Family, bridging: boolean): Flow {
    return {
        table: Table.ConntrackCommit,
        priority: Priority.normal,
        match: { ...fieldsOf(family).any, ...ctStateIs({ new: true, trk: true }) },
        actions: [{ type: "ct", commit: true, zone: zoneOf(family, bridging), exec: [setSource] }],
        gotoTable: afterCommit(bridging),
    };
}

function commitMidStream(family: Family, bridging: BridgingInput | undefined): Flow[] {
    const isBridging = bridging !== undefined;
    const viaHost =
        bridging === undefined
            ? [{}]
            : [notBridged, partsAre([Reg.bridged, 1], [Reg.outputPort, bridging.host.ofPort])];
    return viaHost.map((match) => ({
        table: Table.ConntrackCommit,
        priority: Priority.high,
        match: { ...midStream(family), ...match },
        actions: [
            { type: "ct", commit: true, zone: zoneOf(family, isBridging), exec: [setSource, load(CtMark.viaHost, 1)] },
        ],
        gotoTable: afterCommit(isBridging),
    }));
}

function afterCommit(bridging: boolean): TableId {
    return bridging ? Table.ServiceSnat : Table.Output;
}
