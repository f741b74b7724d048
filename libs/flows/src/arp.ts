import { Port, type Action, type FieldName, type Flow, type SubField } from "@antrea/openflow";
import { macToBigint, type IpAddress } from "@antrea/ip";
import { anyArp, ArpOp } from "./fields.ts";
import { type PipelineInput } from "./inputs.ts";
import { load, move, Reg, Source } from "./registers.ts";
import { type NextTable, type PipelinePart } from "./part.ts";
import { Priority, Table, type TableId } from "./tables.ts";
import { markBridged } from "./vlan.ts";

/** A port of the bridge, with the MAC and IP addresses that its sender may use. */
export interface Station {
    /** OpenFlow port number. */
    readonly ofPort: number;
    /** MAC address, 6 bytes. */
    readonly mac: Uint8Array;
    /** Its IPv4 and IPv6 addresses. */
    readonly ips: readonly IpAddress[];
}

/**
 * Flows for ARP (RFC 826) of one Pod or the gateway: it may send ARP for its own addresses only, and the switch answers
 * all requests for them. No ARP frame is forwarded, which rules out flooding and cache poisoning; a request for an
 * unknown address gets no answer. Empty without an IPv4 address. The station is not checked (`checkPod`,
 * `checkPipeline`).
 */
export function arpFlows(next: NextTable, station: Station): Flow[] {
    const ips = station.ips.filter((ip) => ip.family === 4);
    const allowed = { actions: [], gotoTable: next.after("ArpSpoofGuard") };
    return ips.flatMap((ip) => [guard(station, ip, allowed), silence(station, ip), answer(station, ip)]);
}

/** Flow tables for ARP, for `Pipeline`: the spoof guard and the responder. Both drop what no flow matches. */
export const arpTables = [
    { table: "ArpSpoofGuard", stage: "arp", miss: "drop" },
    { table: "ArpResponder", stage: "arp", miss: "drop" },
] as const;

/** Pipeline part with the ARP flows of the gateway; without IPv4 it has no flows. */
export function arpPart({ families, gateway }: Pick<PipelineInput, "families" | "gateway">): PipelinePart {
    return { tables: arpTables, flows: (next) => (families.includes(4) ? arpFlows(next, gateway) : []) };
}

/**
 * Flows for ARP of a bridged Pod: it may send ARP for its own addresses only. Its frames are flooded in its VLAN (0 to
 * 4094, 0 is untagged), whose stations answer. Empty without an IPv4 address. The station is not checked (`checkPod`).
 */
export function bridgedArpFlows(next: NextTable, station: Station, vlan: number): Flow[] {
    const ips = station.ips.filter((ip) => ip.family === 4);
    const actions = [load(Reg.source, Source.pod), ...markBridged(vlan)];
    const gotoTable = next.into("underlaySwitch");
    return ips.map((ip) => guard(station, ip, { actions, gotoTable }));
}

/**
 * Flow that answers all other ARP requests from one Pod's port with the gateway's MAC address (proxy ARP, RFC 1027): as
 * the Pod's subnet is not on this switch, all other addresses are behind the gateway. Throws IpError `INVALID_MAC`
 * unless the MAC address has 6 bytes.
 */
export function proxyArpFlow(ofPort: number, gatewayMac: Uint8Array): Flow {
    return {
        table: Table.ArpResponder,
        priority: Priority.low,
        match: { ...anyArp, in_port: ofPort, arp_op: ArpOp.request },
        actions: reply(macToBigint(gatewayMac), undefined),
    };
}

function guard(
    { ofPort, mac }: Station,
    ip: IpAddress,
    allowed: { readonly actions: readonly Action[]; readonly gotoTable: TableId },
): Flow {
    const hardware = macToBigint(mac);
    return {
        table: Table.ArpSpoofGuard,
        priority: Priority.normal,
        match: { ...anyArp, in_port: ofPort, eth_src: hardware, arp_spa: ip.value, arp_sha: hardware },
        ...allowed,
    };
}

// A gratuitous ARP for its own address gets no answer: that would indicate a second owner.
function silence({ ofPort }: Station, ip: IpAddress): Flow {
    return {
        table: Table.ArpResponder,
        priority: Priority.high,
        match: { ...anyArp, in_port: ofPort, arp_tpa: ip.value },
        actions: [],
    };
}

/** Flow that answers all ARP requests for an IPv4 address with a MAC address; throws as {@link proxyArpFlow}. */
export function answer({ mac }: Pick<Station, "mac">, ip: IpAddress): Flow {
    return {
        table: Table.ArpResponder,
        priority: Priority.normal,
        match: { ...anyArp, arp_op: ArpOp.request, arp_tpa: ip.value },
        actions: reply(macToBigint(mac), ip),
    };
}

/** The answer with `ip` as the sender, or with the requested address if undefined. */
function reply(hardware: bigint, ip: IpAddress | undefined): Action[] {
    const asked: Action[] = ip === undefined ? [move(whole("arp_tpa", 32), Reg.askedFor)] : [];
    const sender: Action =
        ip === undefined
            ? move(Reg.askedFor, whole("arp_spa", 32))
            : { type: "set_field", field: "arp_spa", value: ip.value };
    return [
        ...asked,
        move(whole("eth_src", 48), whole("eth_dst", 48)),
        { type: "set_field", field: "eth_src", value: hardware },
        { type: "set_field", field: "arp_op", value: ArpOp.reply },
        move(whole("arp_sha", 48), whole("arp_tha", 48)),
        { type: "set_field", field: "arp_sha", value: hardware },
        move(whole("arp_spa", 32), whole("arp_tpa", 32)),
        sender,
        { type: "output", port: Port.IN_PORT },
    ];
}

function whole(field: FieldName, bits: number): SubField {
    return { field, offset: 0, bits };
}
