import { type Action, type CtAction, type Flow } from "@antrea/openflow";
import { type Family } from "@antrea/ip";
import { ctStateIs, fieldsOf, IpProto } from "./fields.ts";
import { type BridgingInput, type PipelineInput } from "./inputs.ts";
import { midStream } from "./mid-stream.ts";
import { CtMark, load, move, notBridged, partsAre, Reg, vlanZone } from "./registers.ts";
import { type NextTable, type PipelinePart } from "./part.ts";
import { Priority, Table, type TableId } from "./tables.ts";

const setSource = move(Reg.source, CtMark.source);

/** Flow tables of connection tracking, for `Pipeline`: lookup, decision by connection state, commit. */
export const conntrackTables = [
    { table: "ConntrackZone", stage: "lookup", miss: "drop" },
    { table: "ConntrackState", stage: "connection", miss: "next" },
    { table: "ConntrackCommit", stage: "commit", miss: "next" },
] as const;

/**
 * Connection tracking: looks up every IP packet in the conntrack zone of its family, and commits new connections after
 * all tables that could drop them, with their source in `CtMark.source`. Invalid packets are dropped only for TCP, UDP
 * and ICMP, as the userspace datapath reports all protocols that it does not track as invalid.
 *
 * In bridging mode each VLAN has a zone for each family, because a packet that the underlay routes between VLANs passes
 * this switch twice.
 */
export function conntrackPart({
    families,
    bridging,
    forgetsConnections,
}: Pick<PipelineInput, "families" | "bridging" | "forgetsConnections">): PipelinePart {
    const isBridging = bridging !== undefined;
    return {
        tables: conntrackTables,
        flows: (next) =>
            families.flatMap((family) => [
                lookUp(next, family, isBridging),
                ...invalid(family),
                established(next, family),
                ...(forgetsConnections ? commitMidStream(next, family, bridging) : []),
                commit(next, family, isBridging),
            ]),
    };
}

function lookUp(next: NextTable, family: Family, bridging: boolean): Flow {
    const { any, zoneType } = fieldsOf(family);
    const setZone: Action[] = bridging ? [load(Reg.zoneType, zoneType)] : [];
    return {
        table: Table.ConntrackZone,
        priority: Priority.normal,
        match: any,
        actions: [...setZone, lookUpIn(zoneOf(family, bridging), next.into("connection", family))],
    };
}

/**
 * Returns the conntrack zone of connections of Pods.
 *
 * @param vlan in bridging mode, 0 to 4094: that of bridged Pods, 0 of all others; undefined outside of it
 */
export function connectionZone(family: Family, vlan?: number): number {
    const { zone, zoneType } = fieldsOf(family);
    return vlan === undefined ? zone : (zoneType << Reg.vlan.bits) | vlan;
}

/** The zone of a packet's connection: in bridging mode that of its VLAN, which `Reg.vlan` and `Reg.zoneType` have. */
export function zoneOf(family: Family, bridging: boolean): CtAction["zone"] {
    return bridging ? vlanZone : fieldsOf(family).zone;
}

/**
 * Action that finds the connection in a zone, translates the packet as the connection is translated, and continues in
 * the table. Each lookup translates, in every configuration: a connection that was translated stays so when the agent
 * no longer serves Services.
 */
export function lookUpIn(zone: CtAction["zone"], table: TableId): CtAction {
    return { type: "ct", zone, table, nat: { kind: "restore" } };
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

function established(next: NextTable, family: Family): Flow {
    return {
        table: Table.ConntrackState,
        priority: Priority.normal,
        match: { ...fieldsOf(family).any, ...ctStateIs({ new: false, inv: false, trk: true }) },
        actions: [],
        gotoTable: next.into("routing", family),
    };
}

// Without `table` the packet continues at once: the commit needs no recirculation.
function commit(next: NextTable, family: Family, bridging: boolean): Flow {
    return {
        table: Table.ConntrackCommit,
        priority: Priority.normal,
        match: { ...fieldsOf(family).any, ...ctStateIs({ new: true, trk: true }) },
        actions: [{ type: "ct", commit: true, zone: zoneOf(family, bridging), exec: [setSource] }],
        gotoTable: next.after("ConntrackCommit", family),
    };
}

function commitMidStream(next: NextTable, family: Family, bridging: BridgingInput | undefined): Flow[] {
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
        gotoTable: next.after("ConntrackCommit", family),
    }));
}
