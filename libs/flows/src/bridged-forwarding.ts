import { macToBigint, type Family } from "@antrea/ip";
import { type Action, type Flow, type Match } from "@antrea/openflow";
import { checkMac } from "./check-inputs.ts";
import { Category, type FlowSet } from "./cookies.ts";
import { ctStateIs, fieldsOf, groupFrame, toIp, toPrefix } from "./fields.ts";
import { type BridgedPeerInput, type BridgingInput, type PipelineInput, type PodInput } from "./inputs.ts";
import { bridgingL2Flows } from "./l2.ts";
import { setDestination } from "./l3.ts";
import { choosePort } from "./output.ts";
import { type NextTable, type PipelinePart } from "./part.ts";
import { CtMark, partsAre, Reg, Source } from "./registers.ts";
import { ipv6AddressesOf } from "./station-ips.ts";
import { Priority, Table, type TableId } from "./tables.ts";

/** Packets of bridged Pods. */
export const bridged = partsAre([Reg.bridged, 1]);
const untagged = inVlan(0);

/** Flow table, for `Pipeline`, that forwards packets of bridged Pods; others pass it. */
export const bridgedForwardingTables = [{ table: "BridgedForwarding", stage: "routing", miss: "next" }] as const;

/**
 * Forwards the packets of bridged Pods. Their network is the underlay, and the Node is one more station in it: its
 * stack gets only packets for the Node. Packets to a bridged Pod of the same VLAN on this Node go to it directly,
 * without the underlay's router. The exceptions are answers whose addresses the host has to translate back, and
 * Services.
 */
export function bridgedForwardingPart(node: PipelineInput, bridging: BridgingInput): PipelinePart {
    return {
        tables: bridgedForwardingTables,
        flows: (next) => [
            ...bridgedForwardingFlows(next, node, bridging),
            ...bridgingL2Flows(next, bridging.uplink.ofPort),
        ],
    };
}

function bridgedForwardingFlows(
    next: NextTable,
    { families, gateway, podPrefixes }: PipelineInput,
    input: BridgingInput,
): Flow[] {
    const { uplink, host } = input;
    const direct = next.into("switching");
    const used = ({ family }: { readonly family: Family }): boolean => families.includes(family);
    const toHost = [setDestination(host.mac), ...choosePort(host.ofPort)];
    const hosts = [
        { ...ctStateIs({ rpl: true, trk: true }), ...partsAre([CtMark.source, Source.host]) },
        { ...ctStateIs({ trk: true }), ...partsAre([CtMark.viaHost, 1]) },
    ];
    return [
        ...families.flatMap((family) => {
            const { any } = fieldsOf(family);
            return [
                drop(Priority.top, { ...any, ...bridged, ...groupFrame }),
                ...hosts.map((match) => forward(Priority.high, { ...any, ...untagged, ...match }, toHost, direct)),
                forward(
                    Priority.lowest,
                    { ...any, ...bridged, eth_dst: macToBigint(host.mac) },
                    choosePort(host.ofPort),
                    direct,
                ),
                forward(Priority.last, { ...any, ...bridged }, choosePort(uplink.ofPort), direct),
            ];
        }),
        ...[...host.ips, ...gateway.ips]
            .filter(used)
            .map((ip) => forward(Priority.low, { ...toIp(ip), ...untagged }, toHost, direct)),
        ...podPrefixes.filter(used).map((prefix) =>
            // The gateway's MAC asks the table L3Forwarding to route.
            forward(
                Priority.lower,
                { ...toPrefix(prefix), ...untagged },
                [setDestination(gateway.mac)],
                next.after("BridgedForwarding"),
            ),
        ),
    ];
}

/**
 * Flows that deliver packets of bridged Pods to a bridged Pod of the same VLAN (0 is untagged) on this Node; they
 * decrement the TTL unless the sender addresses the Pod's MAC, as its neighbour. The Pod is not checked (`checkPod`).
 */
export function toBridgedPodFlows(next: NextTable, pod: PodInput, vlan: number): Flow[] {
    const destination = setDestination(pod.mac);
    const deliver = choosePort(pod.ofPort);
    const neighbours = [...pod.ips.filter((ip) => ip.family === 4), ...ipv6AddressesOf(pod)];
    return [
        ...neighbours.map((ip) =>
            forward(
                Priority.normal,
                { ...toIp(ip), ...inVlan(vlan), eth_dst: macToBigint(pod.mac) },
                deliver,
                next.into("switching"),
            ),
        ),
        ...pod.ips.map((ip) =>
            forward(Priority.low, { ...toIp(ip), ...inVlan(vlan) }, [destination, ...deliver], next.into("hop")),
        ),
    ];
}

/**
 * Flows from untagged bridged Pods to the Pods of another Node in the Node's subnet, one for each of its podCIDRs, for
 * a pipeline in bridging mode. Throws as `checkMac` for its MAC address.
 */
export function bridgedPeerFlows(next: NextTable, input: BridgedPeerInput): FlowSet {
    checkMac("mac", input.mac);
    return { category: Category.nodeConnectivity, flows: toPeerFlows(next, input) };
}

/**
 * To the podCIDRs of a Node of the same subnet directly, as the underlay's router need not know them; to the Node itself
 * what a Service sends there, as its Pods do that address it: the client of a Service has addressed its router.
 */
function toPeerFlows(next: NextTable, { podPrefixes, mac, ips = [] }: BridgedPeerInput): Flow[] {
    const direct = (match: Match): Flow =>
        forward(Priority.lower, { ...match, ...untagged }, [setDestination(mac)], next.into("hop"));
    return [
        ...podPrefixes.map((prefix) => direct(toPrefix(prefix))),
        ...ips.map((ip) => direct({ ...toIp(ip), ...partsAre([CtMark.service, 1]) })),
    ];
}

function inVlan(vlan: number): Match {
    return partsAre([Reg.bridged, 1], [Reg.vlan, vlan]);
}

function drop(priority: number, match: Match): Flow {
    return { table: Table.BridgedForwarding, priority, match, actions: [] };
}

/** A flow of the table BridgedForwarding that continues in `gotoTable`. */
export function forward(priority: number, match: Match, actions: readonly Action[], gotoTable: TableId): Flow {
    return { table: Table.BridgedForwarding, priority, match, actions, gotoTable };
}
