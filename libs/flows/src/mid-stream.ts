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
 * Match of TCP segments from a Pod, of this Node or another, that belong to a connection unknown to the switch:
 * connection tracking was lost with the datapath (a restart of OVS in userspace). Only the host's own connection
 * tracking knows whether the connection's addresses are translated, so these segments and the following ones pass the
 * host. Those of bridged Pods do so only if they are for Pods of the Node's podCIDRs, which a Service may have
 * connected.
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
 * Sends segments that match `midStream` through the host. They are diverted only after L3Forwarding has found a
 * destination: anyone can send such a segment, and one to an unknown address must not reach the host, which would
 * forward it or start neighbour resolution. The host decrements the TTL. Without `forgetsConnections` the part has no
 * flows.
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
