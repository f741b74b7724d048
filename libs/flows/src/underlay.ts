import { type Action, type Flow, type Match } from "@antrea/openflow";
import { macToBigint, type Family } from "@antrea/ip";
import { Category, type FlowSet } from "./cookies.ts";
import { allNodes, anyArp, ArpOp, broadcastFrame, fieldsOf, groupFrame, icmpRedirect, NdType, toIp } from "./fields.ts";
import { type BridgingInput, type PipelineInput, type PodInput, type VlanInput } from "./inputs.ts";
import { checkVlan } from "./check-inputs.ts";
import { nd } from "./nd.ts";
import { ipv6AddressesOf } from "./station-ips.ts";
import { choosePort, sendTo } from "./output.ts";
import { load, partsAre, Reg, Source } from "./registers.ts";
import { type NextTable, type PipelinePart } from "./part.ts";
import { Priority, Table, type TableId } from "./tables.ts";
import { popTag, pushTag, tagPresent } from "./vlan.ts";

type Trunks = Pick<BridgingInput, "uplink" | "host">;

const fromPod = partsAre([Reg.source, Source.pod]);
const question: Match = { ...nd(NdType.neighborSolicitation), ...groupFrame };
const advertisement: Match = { ...nd(NdType.neighborAdvertisement), ...groupFrame, ...toIp(allNodes) };

/** Flow tables for frames of the underlay, for `Pipeline`: VLAN, switching, flooding. All drop what no flow matches. */
export const underlayTables = [
    { table: "Underlay", stage: "underlay", miss: "drop" },
    { table: "UnderlaySwitch", stage: "underlaySwitch", miss: "drop" },
    { table: "UnderlayFlood", stage: "underlaySwitch", miss: "drop" },
] as const;

/** Pipeline part that switches frames of the underlay between uplink, host port and bridged Pods. */
export function underlayPart({ families }: Pick<PipelineInput, "families">, bridging: BridgingInput): PipelinePart {
    return {
        tables: underlayTables,
        flows: (next) => [...trunkFlows(next, bridging), ...underlaySwitchFlows(next, families, bridging)],
    };
}

/**
 * The path between the NIC and the Node's own interface, open for all frames: two trunk ports of a switch. Frames
 * tagged with a VLAN that has no Pod here are passed unchanged. A tag with VLAN ID 0 only carries a priority: the frame
 * belongs to the untagged VLAN (IEEE 802.1Q).
 */
function trunkFlows(next: NextTable, { uplink, host }: Trunks): Flow[] {
    const trunks = [
        { from: uplink.ofPort, source: Source.uplink, to: host.ofPort },
        { from: host.ofPort, source: Source.host, to: uplink.ofPort },
    ];
    return trunks.flatMap(({ from, source, to }) => [
        flow("Root", Priority.high, { in_port: from }, [], next.into("underlay")),
        flow(
            "Underlay",
            Priority.normal,
            { in_port: from, vlan_vid: 0 },
            [load(Reg.source, source)],
            next.into("underlaySwitch"),
        ),
        tagged(next, from, source, 0),
        flow("Underlay", Priority.low, { in_port: from }, [{ type: "output", port: to }]),
        flow("UnderlaySwitch", Priority.last, partsAre([Reg.source, source]), choosePort(to), next.into("tagging")),
    ]);
}

/**
 * Floods to all ports of a VLAN as far as ARP (RFC 826) and advertisements (RFC 4861) need it; solicitations that no
 * Pod here can answer go to the trunks. No other multicast and no frame to an unknown station reaches a Pod.
 */
function underlaySwitchFlows(next: NextTable, families: readonly Family[], { uplink, host }: BridgingInput): Flow[] {
    const groups: Match[] = [
        ...(families.includes(4) ? [{ ...anyArp, ...broadcastFrame }] : []),
        ...(families.includes(6) ? [advertisement, { ...question, ...fromPod }] : []),
    ];
    const toTrunks = outputs([uplink.ofPort, host.ofPort]);
    const toHost = { ...fromPod, eth_dst: macToBigint(host.mac) };
    return [
        ...groups.map((match) => flow("UnderlaySwitch", Priority.normal, match, [], next.after("UnderlaySwitch"))),
        flow("UnderlaySwitch", Priority.lowest, toHost, choosePort(host.ofPort), next.into("tagging")),
        flow("UnderlaySwitch", Priority.last, fromPod, choosePort(uplink.ofPort), next.into("tagging")),
        flow("UnderlayFlood", Priority.low, partsAre([Reg.tagged, 0]), toTrunks),
        flow("UnderlayFlood", Priority.low, partsAre([Reg.tagged, 1]), [...pushTag, ...toTrunks]),
    ];
}

/**
 * Flows of a VLAN while this Node has bridged Pods in it; needed in addition to the Pods' own flows. The Node's own
 * untagged traffic works without them. Throws FlowsError `INVALID_INPUT` for a VLAN ID or port.
 */
export function vlanFlows(next: NextTable, input: VlanInput): FlowSet {
    checkVlan(input);
    return { category: Category.podConnectivity, flows: vlanSwitchFlows(next, input) };
}

/** A VLAN with Pods: its frames are switched, and floods reach the Pods. */
function vlanSwitchFlows(next: NextTable, { vlan, podPorts, uplink, host }: VlanInput): Flow[] {
    const toAll = [...outputs(podPorts), ...(vlan === 0 ? [] : pushTag), ...outputs([uplink.ofPort, host.ofPort])];
    const classified = [tagged(next, uplink.ofPort, Source.uplink, vlan), tagged(next, host.ofPort, Source.host, vlan)];
    return [
        ...(vlan === 0 ? [] : classified),
        ...[anyArp, advertisement].map((match) =>
            flow("UnderlayFlood", Priority.normal, { ...match, ...partsAre([Reg.vlan, vlan]) }, toAll),
        ),
    ];
}

/**
 * Flows that deliver frames of a VLAN (0 is untagged) to one bridged Pod. Only this Pod receives requests for its
 * addresses. Router advertisements are dropped (its gateway is configured), as are redirects, which would bypass the
 * host's address translation. IP packets pass connection tracking first. `podFlows` checks the Pod.
 */
export function podSwitchFlows(next: NextTable, pod: PodInput, vlan: number): Flow[] {
    const toPod = { ...partsAre([Reg.vlan, vlan]), eth_dst: macToBigint(pod.mac) };
    const families = [...new Set(pod.ips.map((ip) => ip.family))];
    const asked = questions(pod);
    return [
        // The Pod asks for its own addresses to announce itself, or for duplicate address detection.
        ...asked.map((match) =>
            flow("UnderlaySwitch", Priority.top, { ...match, in_port: pod.ofPort }, [], next.after("UnderlaySwitch")),
        ),
        ...[
            ...asked.map((match) => ({ ...match, ...partsAre([Reg.vlan, vlan]) })),
            ...families.flatMap((family) => heard[family].map((match) => ({ ...match, ...toPod }))),
        ].map((match) => ({ ...flow("UnderlaySwitch", Priority.high, match, []), ...sendTo(next, pod.ofPort) })),
        ...families.flatMap((family) => [
            ...refused[family].map((match) => flow("UnderlaySwitch", Priority.normal, { ...match, ...toPod }, [])),
            flow(
                "UnderlaySwitch",
                Priority.low,
                { ...fieldsOf(family).any, ...toPod },
                choosePort(pod.ofPort),
                next.into("lookup"),
            ),
        ]),
        flow("UnderlaySwitch", Priority.lower, toPod, []),
    ];
}

const heard: Readonly<Record<Family, readonly Match[]>> = {
    4: [anyArp],
    6: [nd(NdType.neighborSolicitation), nd(NdType.neighborAdvertisement)],
};

const refused: Readonly<Record<Family, readonly Match[]>> = {
    4: [{ ...fieldsOf(4).icmp, icmpv4_type: icmpRedirect }],
    6: [NdType.routerAdvertisement, NdType.redirect].map((type) => ({ ...fieldsOf(6).icmp, icmpv6_type: type })),
};

/** Matches of broadcast or multicast requests for the Pod's addresses. */
function questions(pod: PodInput): Match[] {
    const ipv4 = pod.ips.filter((ip) => ip.family === 4);
    return [
        ...ipv4.map((ip) => ({ ...anyArp, ...broadcastFrame, arp_op: ArpOp.request, arp_tpa: ip.value })),
        ...ipv6AddressesOf(pod).map((ip) => ({ ...question, nd_target: ip.value })),
    ];
}

function tagged(next: NextTable, in_port: number, source: Source, vlan: number): Flow {
    return flow(
        "Underlay",
        Priority.normal,
        { in_port, vlan_vid: tagPresent | vlan },
        [load(Reg.source, source), ...popTag(vlan)],
        next.into("underlaySwitch"),
    );
}

function outputs(ports: readonly number[]): Action[] {
    return ports.map((port) => ({ type: "output", port }));
}

function flow(
    table: "Root" | "Underlay" | "UnderlaySwitch" | "UnderlayFlood",
    priority: number,
    match: Match,
    actions: readonly Action[],
    gotoTable?: TableId,
): Flow {
    const common = { table: Table[table], priority, match, actions };
    return gotoTable === undefined ? common : { ...common, gotoTable };
}
