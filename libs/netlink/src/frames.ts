import { concatBytes, internetChecksum, ipToBytes, parseMac, type IpAddress } from "@antrea/ip";
import { badArgument } from "./errors.ts";
import { type MacText } from "./types/link.ts";

const BROADCAST = "ff:ff:ff:ff:ff:ff";
const ALL_NODES_MAC = "33:33:00:00:00:01";
const ALL_NODES: IpAddress = { family: 6, value: 0xff02_0000_0000_0000_0000_0000_0000_0001n };
const ETHER_TYPE = { ARP: 0x0806, IPV6: 0x86dd } as const;
const ICMPV6 = 58;

/**
 * The Ethernet frame of a gratuitous ARP, which announces `ip` at `mac`: a broadcast request for one's own address (RFC
 * 5227 section 3, "ARP announcement"). 42 bytes; the driver pads. Throws `NetlinkError` `BAD_ARGUMENT` for IPv6,
 * `IpError` for an invalid MAC address.
 */
export function gratuitousArp(mac: MacText, ip: IpAddress): Uint8Array {
    if (ip.family !== 4) throw badArgument("family of a gratuitous ARP", ip.family, "ARP is for IPv4");
    const sender = parseMac(mac);
    const address = ipToBytes(ip);
    // Ethernet, IPv4, lengths 6 and 4, request; the address is sender and target, the target's MAC is not known.
    const fixed = Uint8Array.of(0, 1, 0x08, 0x00, 6, 4, 0, 1);
    return ethernet(BROADCAST, sender, ETHER_TYPE.ARP, [fixed, sender, address, new Uint8Array(6), address]);
}

/**
 * The Ethernet frame of an unsolicited neighbour advertisement of `ip` at `mac` to all nodes (RFC 4861 sections 4.4 and
 * 7.2.6), with the override flag, so that caches take the new MAC address. 86 bytes. Throws `NetlinkError`
 * `BAD_ARGUMENT` for IPv4, `IpError` for an invalid MAC address.
 */
export function unsolicitedNa(mac: MacText, ip: IpAddress): Uint8Array {
    if (ip.family !== 6) throw badArgument("family of a neighbour advertisement", ip.family, "it is for IPv6");
    const sender = parseMac(mac);
    const source = ipToBytes(ip);
    const destination = ipToBytes(ALL_NODES);
    // Type 136, code 0, checksum, override flag; the target; option 2 (target link-layer address) of 8 bytes.
    const body = concatBytes([Uint8Array.of(136, 0, 0, 0, 0x20, 0, 0, 0), source, Uint8Array.of(2, 1), sender]);
    const pseudo = [source, destination, Uint8Array.of(0, 0, 0, body.length, 0, 0, 0, ICMPV6)];
    new DataView(body.buffer).setUint16(2, internetChecksum([...pseudo, body]));
    // Version 6, payload length, ICMPv6, hop limit 255, as ND demands.
    const header = Uint8Array.of(0x60, 0, 0, 0, 0, body.length, ICMPV6, 255);
    return ethernet(ALL_NODES_MAC, sender, ETHER_TYPE.IPV6, [header, source, destination, body]);
}

function ethernet(destination: MacText, source: Uint8Array, type: number, payload: readonly Uint8Array[]): Uint8Array {
    return concatBytes([parseMac(destination), source, Uint8Array.of(type >> 8, type & 0xff), ...payload]);
}
