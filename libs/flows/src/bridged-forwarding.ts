import { type Action, type Flow, type Match } from "@antrea/openflow";
import { macToBigint, type Family } from "@antrea/ip";
import { ctStateIs, fieldsOf, groupFrame, toIp, toPrefix } from "./fields.ts";
import { type BridgedPeerInput, type BridgingInput, type PipelineInput, type PodInput } from "./inputs.ts";
import { setDestination } from "./l3.ts";
import { ipv6AddressesOf } from "./nd.ts";
import { choosePort } from "./output.ts";
import { CtMark, load, partsAre, Reg, Source } from "./registers.ts";
import { Priority, Table, type TableId } from "./tables.ts";

const bridged = partsAre([Reg.bridged, 1]);
const untagged = inVlan(0);

/**
 * The ways of what bridged Pods send. The underlay is their network, and the Node is one more station there: nothing
 * goes to its stack but what is for it. What a switch could spare the underlay's router goes straight to the Pod, in
 * the same VLAN only. The exceptions are answers that the host has to translate back, and Services.
 */
export function bridgedForwardingFlows(
    { families, gateway, podPrefixes }: PipelineInput,
    input: BridgingInput,
): Flow[] {
    const { uplink, host, serviceCidrs } = input;
    const used = ({ family }: { readonly family: Family }): boolean => families.includes(family);
    const toHost = [setDestination(host.mac), ...choosePort(host.ofPort)];
    const toService = [setDestination(gateway.mac), ...choosePort(gateway.ofPort), load(Reg.toService, 1)];
    const hosts = [
        { ...ctStateIs({ rpl: true, trk: true }), ...partsAre([CtMark.source, Source.host]) },
        { ...ctStateIs({ trk: true }), ...partsAre([CtMark.viaHost, 1]) },
    ];
    return [
        ...families.flatMap((family) => {
            const { any } = fieldsOf(family);
            return [
                drop(Priority.top, { ...any, ...bridged, ...groupFrame }),
                ...hosts.map((match) => way(Priority.high, { ...any, ...untagged, ...match }, toHost)),
                way(Priority.lowest, { ...any, ...bridged, eth_dst: macToBigint(host.mac) }, choosePort(host.ofPort)),
                way(Priority.last, { ...any, ...bridged }, choosePort(uplink.ofPort)),
            ];
        }),
        ...[...host.ips, ...gateway.ips]
            .filter(used)
            .map((ip) => way(Priority.low, { ...toIp(ip), ...untagged }, toHost)),
        ...serviceCidrs.filter(used).map((cidr) => way(Priority.lower, { ...toPrefix(cidr), ...bridged }, toService)),
        ...podPrefixes.filter(used).map((prefix) =>
            // The gateway's MAC asks the table L3Forwarding to route.
            way(
                Priority.lower,
                { ...toPrefix(prefix), ...untagged },
                [setDestination(gateway.mac)],
                Table.L3Forwarding,
            ),
        ),
    ];
}

/** Straight to a Pod of the same VLAN; one hop, unless the sender knows the Pod as its neighbour. */
export function toBridgedPodFlows(pod: PodInput, vlan: number): Flow[] {
    const destination = setDestination(pod.mac);
    const deliver = choosePort(pod.ofPort);
    const neighbours = [...pod.ips.filter((ip) => ip.family === 4), ...ipv6AddressesOf(pod)];
    return [
        ...neighbours.map((ip) =>
            way(Priority.normal, { ...toIp(ip), ...inVlan(vlan), eth_dst: macToBigint(pod.mac) }, deliver),
        ),
        ...pod.ips.map((ip) =>
            way(Priority.low, { ...toIp(ip), ...inVlan(vlan) }, [destination, ...deliver], Table.L3DecTtl),
        ),
    ];
}

/** To the podCIDRs of a Node of the same subnet without the underlay's router, which need not know them. */
export function toPeerFlows({ podPrefixes, mac }: BridgedPeerInput): Flow[] {
    return podPrefixes.map((prefix) =>
        way(Priority.lower, { ...toPrefix(prefix), ...untagged }, [setDestination(mac)], Table.L3DecTtl),
    );
}

function inVlan(vlan: number): Match {
    return partsAre([Reg.bridged, 1], [Reg.vlan, vlan]);
}

function drop(priority: number, match: Match): Flow {
    return { table: Table.BridgedForwarding, priority, match, actions: [] };
}

function way(
    priority: number,
    match: Match,
    actions: readonly Action[],
    gotoTable: TableId = Table.L2Forwarding,
): Flow {
    return { table: Table.BridgedForwarding, priority, match, actions, gotoTable };
}
