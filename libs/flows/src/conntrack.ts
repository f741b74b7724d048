import { type Flow, type Match } from "@antrea/openflow";
import { type Family } from "@antrea/ip";
import { ctStateIs, fieldsOf, IpProto } from "./fields.ts";
import { CtMark, load, Reg, Source, sourceIsEither } from "./registers.ts";
import { Priority, Table } from "./tables.ts";

const synFlag = 0x002;

/**
 * Packets that belong to a TCP connection which the switch does not know, sent by a Pod, of this Node or of another:
 * connection tracking was lost with the datapath (a restart of OVS in userspace). Whether the host translates the connection's addresses is not to
 * be seen from them, the host's own tracking knows it; so they, and what follows, pass the host.
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
 */
export function conntrackFlows(families: readonly Family[]): Flow[] {
    return families.flatMap((family) => [lookUp(family), ...invalid(family), established(family), ...commit(family)]);
}

function lookUp(family: Family): Flow {
    const { any, zone } = fieldsOf(family);
    return {
        table: Table.ConntrackZone,
        priority: Priority.normal,
        match: any,
        actions: [{ type: "ct", zone, table: Table.ConntrackState }],
    };
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

function established(family: Family): Flow {
    return {
        table: Table.ConntrackState,
        priority: Priority.normal,
        match: { ...fieldsOf(family).any, ...ctStateIs({ new: false, inv: false, trk: true }) },
        actions: [],
        gotoTable: Table.L3Forwarding,
    };
}

// Without `table` the packet goes on at once: the commit costs no second pass through the datapath.
function commit(family: Family): Flow[] {
    const { any, zone } = fieldsOf(family);
    const source = { type: "move", from: Reg.source, to: CtMark.source } as const;
    return [
        {
            table: Table.ConntrackCommit,
            priority: Priority.high,
            match: midStream(family),
            actions: [{ type: "ct", commit: true, zone, exec: [source, load(CtMark.viaHost, 1)] }],
            gotoTable: Table.Output,
        },
        {
            table: Table.ConntrackCommit,
            priority: Priority.normal,
            match: { ...any, ...ctStateIs({ new: true, trk: true }) },
            actions: [{ type: "ct", commit: true, zone, exec: [source] }],
            gotoTable: Table.Output,
        },
    ];
}
