import { Port, type Action, type Flow } from "@antrea/openflow";
import { macToBigint, type IpAddress } from "@antrea/ip";
import { anyArp, ArpOp } from "./fields.ts";
import { Priority, Table } from "./tables.ts";

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
export function arpFlows(station: Station): Flow[] {
    const ips = station.ips.filter((ip) => ip.family === 4);
    return ips.flatMap((ip) => [guard(station, ip), silence(station, ip), answer(station, ip)]);
}

function guard({ ofPort, mac }: Station, ip: IpAddress): Flow {
    const hardware = macToBigint(mac);
    return {
        table: Table.ArpSpoofGuard,
        priority: Priority.normal,
        match: { ...anyArp, in_port: ofPort, eth_src: hardware, arp_spa: ip.value, arp_sha: hardware },
        actions: [],
        gotoTable: Table.ArpResponder,
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

function reply(hardware: bigint, ip: IpAddress): Action[] {
    return [
        {
            type: "move",
            from: { field: "eth_src", offset: 0, bits: 48 },
            to: { field: "eth_dst", offset: 0, bits: 48 },
        },
        { type: "set_field", field: "eth_src", value: hardware },
        { type: "set_field", field: "arp_op", value: ArpOp.reply },
        {
            type: "move",
            from: { field: "arp_sha", offset: 0, bits: 48 },
            to: { field: "arp_tha", offset: 0, bits: 48 },
        },
        { type: "set_field", field: "arp_sha", value: hardware },
        {
            type: "move",
            from: { field: "arp_spa", offset: 0, bits: 32 },
            to: { field: "arp_tpa", offset: 0, bits: 32 },
        },
        { type: "set_field", field: "arp_spa", value: ip.value },
        { type: "output", port: Port.IN_PORT },
    ];
}
