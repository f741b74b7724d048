import { Port, type Action, type FieldName, type Flow, type SubField } from "@antrea/openflow";
import { macToBigint, type IpAddress } from "@antrea/ip";
import { anyArp, ArpOp } from "./fields.ts";
import { type PipelineInput } from "./inputs.ts";
import { load, move, Reg, Source } from "./registers.ts";
import { type NextTable, type PipelinePart } from "./part.ts";
import { Priority, Table, type TableId } from "./tables.ts";
import { markBridged } from "./vlan.ts";

/** A port with what it may say of itself. */
export interface Station {
    readonly ofPort: number;
    readonly mac: Uint8Array;
    readonly ips: readonly IpAddress[];
}

/**
 * ARP (RFC 826) of one station, Pod or gateway: it may speak for its own addresses only, and whoever asks for them is
 * answered by the switch. No ARP frame is ever passed on, so nothing floods and no cache can be poisoned; who asks for
 * an address that nobody has gets no answer.
 */
export function arpFlows(next: NextTable, station: Station): Flow[] {
    const ips = station.ips.filter((ip) => ip.family === 4);
    const allowed = { actions: [], gotoTable: next.after("ArpSpoofGuard") };
    return ips.flatMap((ip) => [guard(station, ip, allowed), silence(station, ip), answer(station, ip)]);
}

export const arpTables = [
    { table: "ArpSpoofGuard", stage: "arp", miss: "drop" },
    { table: "ArpResponder", stage: "arp", miss: "drop" },
] as const;

/** ARP of the gateway. */
export function arpPart({ families, gateway }: Pick<PipelineInput, "families" | "gateway">): PipelinePart {
    return { tables: arpTables, flows: (next) => (families.includes(4) ? arpFlows(next, gateway) : []) };
}

/** ARP of a bridged Pod: it may speak for its own addresses too, and is heard by a whole VLAN, which answers itself. */
export function bridgedArpFlows(next: NextTable, station: Station, vlan: number): Flow[] {
    const ips = station.ips.filter((ip) => ip.family === 4);
    const actions = [load(Reg.source, Source.pod), ...markBridged(vlan)];
    const gotoTable = next.into("underlaySwitch");
    return ips.map((ip) => guard(station, ip, { actions, gotoTable }));
}

/**
 * Answers every other question of one Pod with the gateway's MAC address (proxy ARP, RFC 1027): the Pod's subnet is not
 * on this switch, so all that is not a station here is behind the gateway.
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

// An announcement of its own address is no question: an answer would look like a second owner.
function silence({ ofPort }: Station, ip: IpAddress): Flow {
    return {
        table: Table.ArpResponder,
        priority: Priority.high,
        match: { ...anyArp, in_port: ofPort, arp_tpa: ip.value },
        actions: [],
    };
}

function answer({ mac }: Station, ip: IpAddress): Flow {
    return {
        table: Table.ArpResponder,
        priority: Priority.normal,
        match: { ...anyArp, arp_op: ArpOp.request, arp_tpa: ip.value },
        actions: reply(macToBigint(mac), ip),
    };
}

/** The answer in the name of `ip`, or of whatever address was asked for. */
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
