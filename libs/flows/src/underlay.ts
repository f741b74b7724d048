import { type Action, type Flow, type Match } from "@antrea/openflow";
import { macToBigint, type Family } from "@antrea/ip";
import { allNodes, anyArp, ArpOp, broadcastFrame, fieldsOf, groupFrame, icmpRedirect, NdType, toIp } from "./fields.ts";
import { type BridgingInput, type PodInput, type VlanInput } from "./inputs.ts";
import { ipv6AddressesOf, nd } from "./nd.ts";
import { choosePort, sendTo } from "./output.ts";
import { load, partsAre, Reg, Source } from "./registers.ts";
import { Priority, Table, type TableId } from "./tables.ts";
import { popTag, pushTag, tagPresent } from "./vlan.ts";

type Trunks = Pick<BridgingInput, "uplink" | "host">;

const fromPod = partsAre([Reg.source, Source.pod]);
const question: Match = { ...nd(NdType.neighborSolicitation), ...groupFrame };
const advertisement: Match = { ...nd(NdType.neighborAdvertisement), ...groupFrame, ...toIp(allNodes) };

/**
 * The way between the NIC and the Node's own interface, which is open whatever the frames are: two trunks of a switch.
 * Frames with the tag of a VLAN that has no Pod here are not looked at. A tag of VLAN 0 tells a priority only: the frame
 * belongs to the untagged VLAN (IEEE 802.1Q).
 */
export function trunkFlows({ uplink, host }: Trunks): Flow[] {
    const trunks = [
        { from: uplink.ofPort, source: Source.uplink, to: host.ofPort },
        { from: host.ofPort, source: Source.host, to: uplink.ofPort },
    ];
    return trunks.flatMap(({ from, source, to }) => [
        flow("Root", Priority.high, { in_port: from }, [], Table.Underlay),
        flow(
            "Underlay",
            Priority.normal,
            { in_port: from, vlan_vid: 0 },
            [load(Reg.source, source)],
            Table.UnderlaySwitch,
        ),
        tagged(from, source, 0),
        flow("Underlay", Priority.low, { in_port: from }, [{ type: "output", port: to }]),
        flow("UnderlaySwitch", Priority.last, partsAre([Reg.source, source]), choosePort(to), Table.Vlan),
    ]);
}

/**
 * What a switch does for its other ports: what is for all goes to all ports of the VLAN, as far as ARP (RFC 826) and
 * advertisements (RFC 4861) need it; questions that no Pod here can answer go to the trunks. No other multicast and no
 * frame to an unknown station reaches a Pod.
 */
export function underlaySwitchFlows(families: readonly Family[], { uplink, host }: BridgingInput): Flow[] {
    const groups: Match[] = [
        ...(families.includes(4) ? [{ ...anyArp, ...broadcastFrame }] : []),
        ...(families.includes(6) ? [advertisement, { ...question, ...fromPod }] : []),
    ];
    const toTrunks = outputs([uplink.ofPort, host.ofPort]);
    const toHost = { ...fromPod, eth_dst: macToBigint(host.mac) };
    return [
        ...groups.map((match) => flow("UnderlaySwitch", Priority.normal, match, [], Table.UnderlayFlood)),
        flow("UnderlaySwitch", Priority.lowest, toHost, choosePort(host.ofPort), Table.Vlan),
        flow("UnderlaySwitch", Priority.last, fromPod, choosePort(uplink.ofPort), Table.Vlan),
        flow("UnderlayFlood", Priority.low, partsAre([Reg.tagged, 0]), toTrunks),
        flow("UnderlayFlood", Priority.low, partsAre([Reg.tagged, 1]), [...pushTag, ...toTrunks]),
    ];
}

/** A VLAN with Pods: its frames are looked at, and floods reach the Pods. */
export function vlanSwitchFlows({ vlan, podPorts, uplink, host }: VlanInput): Flow[] {
    const toAll = [...outputs(podPorts), ...(vlan === 0 ? [] : pushTag), ...outputs([uplink.ofPort, host.ofPort])];
    const classified = [tagged(uplink.ofPort, Source.uplink, vlan), tagged(host.ofPort, Source.host, vlan)];
    return [
        ...(vlan === 0 ? [] : classified),
        ...[anyArp, advertisement].map((match) =>
            flow("UnderlayFlood", Priority.normal, { ...match, ...partsAre([Reg.vlan, vlan]) }, toAll),
        ),
    ];
}

/**
 * What of a VLAN is for one Pod. Questions for its addresses reach it alone. It hears no routers (its way out is set),
 * and no redirects, which would lead past the host's address translation. IP packets pass connection tracking first.
 */
export function podSwitchFlows(pod: PodInput, vlan: number): Flow[] {
    const toPod = { ...partsAre([Reg.vlan, vlan]), eth_dst: macToBigint(pod.mac) };
    const families = [...new Set(pod.ips.map((ip) => ip.family))];
    const asked = questions(pod);
    return [
        // Of its own addresses it asks to make itself known, or whether another one has them.
        ...asked.map((match) =>
            flow("UnderlaySwitch", Priority.top, { ...match, in_port: pod.ofPort }, [], Table.UnderlayFlood),
        ),
        ...[
            ...asked.map((match) => ({ ...match, ...partsAre([Reg.vlan, vlan]) })),
            ...families.flatMap((family) => heard[family].map((match) => ({ ...match, ...toPod }))),
        ].map((match) => ({ ...flow("UnderlaySwitch", Priority.high, match, []), ...sendTo(pod.ofPort) })),
        ...families.flatMap((family) => [
            ...refused[family].map((match) => flow("UnderlaySwitch", Priority.normal, { ...match, ...toPod }, [])),
            flow(
                "UnderlaySwitch",
                Priority.low,
                { ...fieldsOf(family).any, ...toPod },
                choosePort(pod.ofPort),
                Table.ConntrackZone,
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

/** The matches of questions to all for the Pod's addresses. */
function questions(pod: PodInput): Match[] {
    const ipv4 = pod.ips.filter((ip) => ip.family === 4);
    return [
        ...ipv4.map((ip) => ({ ...anyArp, ...broadcastFrame, arp_op: ArpOp.request, arp_tpa: ip.value })),
        ...ipv6AddressesOf(pod).map((ip) => ({ ...question, nd_target: ip.value })),
    ];
}

function tagged(in_port: number, source: Source, vlan: number): Flow {
    return flow(
        "Underlay",
        Priority.normal,
        { in_port, vlan_vid: tagPresent | vlan },
        [load(Reg.source, source), ...popTag(vlan)],
        Table.UnderlaySwitch,
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
