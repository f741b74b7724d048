import { type Action, type Flow, type Match, type Meter } from "@antrea/openflow";
import { macToBigint, type Family } from "@antrea/ip";
import { ctStateIs, fieldsOf, IpProto } from "../fields.ts";
import { type PipelineInput } from "../inputs.ts";
import { CtMark, partsAre, Reg, Source, sourceIsEither } from "../registers.ts";
import { type NextTable } from "../part.ts";
import { Priority, Table, type TableId } from "../tables.ts";
import { serviceMac } from "./addresses.ts";
import { allProtocols } from "./protocols.ts";

const synFlag = 0x002;

/** Priorities of the table ServiceLb: the highest wins. */
export const Rank = {
    /** Sources that are not served. */
    notServed: 230,
    /** The midst of a TCP connection that nobody knows. */
    midStreamOfHost: 225,
    midStream: 220,
    /** An address of a Service: for clients inside, then for all that are left, then for those without permission. */
    addressInside: 210,
    address: 200,
    closed: 195,
    /** A NodePort: for clients inside, then for all. */
    nodePortInside: 190,
    nodePort: 185,
    /** What the host sends here because of a Service that is none. */
    unknown: 180,
} as const;

/** The meter of the packets that `rejectAction` sends; it must exist before flows do. */
export const rejectMeter: Meter = { id: 1, unit: "packets", rate: 1000 };

/** `userdata` of packet-ins that the agent answers with a TCP reset or an ICMP error (port unreachable). */
export const rejectUserdata: Uint8Array = Uint8Array.of(4);

/** Action that lets the agent reject the packet. */
export const rejectAction: Action = { type: "controller", userdata: rejectUserdata, meter: rejectMeter.id };

/**
 * Flows of the choice of an endpoint that belong to no Service. The switch serves its Pods, with `proxyAll` also what the
 * gateway sends; frames of the underlay and of tunnels have their destination. A TCP segment that begins no connection gets no
 * endpoint: a Pod's goes on to the host, which knows the connection from kube-proxy or resets it; the host's own, whose
 * MAC address marks it as one for a Service, is reset, as is what it sends to no Service, once the switch has all of them.
 * With `proxyAll` the host has no reset for a Pod's segment: it sends it back as its own, where the connection counts as begun,
 * since the Pod's pass has committed it (`midStream`).
 */
export function serviceLbFlows(
    next: NextTable,
    family: Family,
    { bridging, services }: Pick<PipelineInput, "bridging" | "services">,
): Flow[] {
    const { any } = fieldsOf(family);
    const gotoTable = next.after("ServiceLb", family);
    const proxyAll = services?.proxyAll === true;
    const notServed = [
        ...(services?.tunnel === undefined ? [] : [partsAre([Reg.source, Source.tunnel])]),
        ...(proxyAll ? [] : [partsAre([Reg.source, Source.gateway])]),
        ...(bridging === undefined ? [] : [sourceIsEither(Source.uplink, Source.host)]),
    ];
    const tcp = { ...any, ip_proto: IpProto.tcp };
    const midStream = { ...tcp, tcp_flags: { value: 0, mask: synFlag } };
    const ofHost = { ...partsAre([Reg.source, Source.gateway]), eth_dst: macToBigint(serviceMac) };
    const sentBack = {
        ...midStream,
        ...ctStateIs({ new: false, inv: false, rpl: false, trk: true }),
        ...partsAre([CtMark.source, Source.pod], [CtMark.service, 0], [CtMark.viaHost, 1]),
    };
    const rejects = services?.withoutMeter !== true && services?.areComplete !== false;
    const reject = (priority: number, match: Match, table: TableId = Table.ServiceLb): Flow => ({
        table,
        priority,
        match: { ...match, ...ofHost },
        actions: rejects ? [rejectAction] : [],
    });
    const pass = (priority: number, match: Match): Flow => ({
        table: Table.ServiceLb,
        priority,
        match,
        actions: [],
        gotoTable,
    });
    return [
        ...notServed.map((match) => pass(Rank.notServed, { ...any, ...match })),
        pass(Rank.midStream, midStream),
        ...(proxyAll
            ? [
                  reject(Priority.high, sentBack, Table.ConntrackState),
                  reject(Rank.midStreamOfHost, midStream),
                  ...allProtocols.map(({ ip_proto }) => reject(Rank.unknown, { ...any, ip_proto })),
              ]
            : []),
    ];
}
