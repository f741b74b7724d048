import { type Action, type Flow, type Match } from "@antrea/openflow";
import { type Family } from "@antrea/ip";
import { ctStateIs, fieldsOf, IpProto, toPrefix } from "./fields.ts";
import { type PipelineInput } from "./inputs.ts";
import { setDestination } from "./l3.ts";
import { choosePort } from "./output.ts";
import { notBridged, partsAre, Reg, Source, sourceIsEither } from "./registers.ts";
import { type NextTable, type PipelinePart } from "./part.ts";
import { Priority, Table } from "./tables.ts";

const synFlag = 0x002;

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
 * Sends such packets by the host. They are diverted after L3Forwarding has found their way: anybody can send a segment
 * that begins no connection, and one for nobody must not reach the host, which would forward it or look for a neighbour
 * that there is not. The host counts the hop.
 */
export function midStreamPart(input: PipelineInput): PipelinePart {
    return { tables: [], flows: (next) => (input.forgetsConnections ? midStreamFlows(next, input) : []) };
}

function midStreamFlows(next: NextTable, { families, gateway, podPrefixes, bridging }: PipelineInput): Flow[] {
    const toGateway = [setDestination(gateway.mac), ...choosePort(gateway.ofPort)];
    const others = bridging === undefined ? {} : notBridged;
    const flows = families.flatMap((family) => divert(next, { ...midStream(family), ...others }, toGateway));
    if (bridging === undefined) return flows;
    const toHost = [setDestination(bridging.host.mac), ...choosePort(bridging.host.ofPort)];
    const untagged = partsAre([Reg.bridged, 1], [Reg.vlan, 0]);
    const used = podPrefixes.filter((prefix) => families.includes(prefix.family));
    return [
        ...flows,
        ...used.flatMap((prefix) =>
            divert(next, { ...midStream(prefix.family), ...untagged, ...toPrefix(prefix) }, toHost),
        ),
    ];
}

function divert(next: NextTable, match: Match, actions: readonly Action[]): Flow[] {
    const priority = Priority.top;
    return [
        { table: Table.L3DecTtl, priority, match, actions: [], gotoTable: next.into("switching") },
        { table: Table.L2Forwarding, priority, match, actions, gotoTable: next.after("L2Forwarding") },
    ];
}
