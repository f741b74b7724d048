import { formatIp, formatMac, ipToBytes, parseMac } from "@antrea/ip";
import { type Neighbour, type NeighbourKey, type NeighbourOptions } from "../types/neighbour.ts";
import { Attributes } from "./attributes.ts";
import {
    AddressFamily,
    MessageFlag,
    MessageType,
    NeighbourAttribute,
    NeighbourFlag,
    NeighbourState,
} from "./constants.ts";
import { familyNumber, familyOf } from "./family.ts";
import { linkIndex } from "./link-checks.ts";
import { Reader } from "./reader.ts";
import { CREATE_OR_REPLACE, type Query, type Request } from "./request.ts";
import { Writer } from "./writer.ts";

const MAC_BYTES = 6;

/**
 * Reads the payload of RTM_NEWNEIGH and RTM_DELNEIGH: struct ndmsg and NDA_*. Undefined for a family other than IPv4
 * and IPv6, or without an address. Throws `NetlinkError` `SHORT_MESSAGE`, `BAD_MESSAGE`.
 */
export function decodeNeighbour(payload: Uint8Array): Neighbour | undefined {
    const reader = new Reader(payload, "neighbour");
    const family = familyOf(reader.u8());
    reader.skip(3); // padding
    const index = reader.i32();
    const state = reader.u16();
    const flags = reader.u8();
    reader.skip(1); // ndm_type
    const attributes = new Attributes(reader.rest(), `neighbour on link ${index}`);
    const ip = family === undefined ? undefined : attributes.ip(NeighbourAttribute.DST, family);
    if (ip === undefined) return undefined;
    const mac = attributes.bytes(NeighbourAttribute.LLADDR);
    return { index, ip, ...(mac?.length === MAC_BYTES && { mac: formatMac(mac) }), state, flags };
}

/**
 * The query for the neighbours of one link or, without `index`, of all; a list, for `Exchange.dump`. Throws
 * `NetlinkError` `BAD_ARGUMENT` for an index outside 1 to 2^31 - 1.
 */
export function queryNeighbours(index?: number): Query {
    const body = new Writer().u8(AddressFamily.UNSPEC).bytes(new Uint8Array(11)); // struct ndmsg
    if (index !== undefined) body.attributeU32(NeighbourAttribute.IFINDEX, linkIndex(index));
    const label = `list neighbours of ${index === undefined ? "all links" : `link ${index}`}`;
    return { type: MessageType.GETNEIGH, flags: MessageFlag.DUMP, body: body.finish(), label };
}

/**
 * The request that adds a neighbour entry, or replaces the one for the address. Throws `NetlinkError` `BAD_ARGUMENT`
 * for an index, state or flags that do not fit, `IpError` for a MAC address.
 */
export function replaceNeighbour(options: NeighbourOptions): Request {
    const { index, ip, mac, state = NeighbourState.PERMANENT } = options;
    const body = ndmsg(options, state, options.flags)
        .attribute(NeighbourAttribute.DST, ipToBytes(ip))
        .attribute(NeighbourAttribute.LLADDR, parseMac(mac));
    return {
        type: MessageType.NEWNEIGH,
        flags: CREATE_OR_REPLACE,
        body: body.finish(),
        label: `replace neighbour ${formatIp(ip)} (${mac}) on link ${index}`,
    };
}

/**
 * The request that makes the kernel probe a neighbour (ARP, ND) as if a packet was sent to it: its entry becomes
 * reachable or failed. With `mac`, the known MAC address, that one is probed and the entry stays usable meanwhile.
 * Throws `NetlinkError` `BAD_ARGUMENT` for an index that is not valid, `IpError` for a MAC address.
 */
export function probeNeighbour({ index, ip, mac }: NeighbourKey & { readonly mac?: string | undefined }): Request {
    const body =
        mac === undefined ? ndmsg({ index, ip }, 0, NeighbourFlag.USE) : ndmsg({ index, ip }, NeighbourState.PROBE);
    body.attribute(NeighbourAttribute.DST, ipToBytes(ip));
    if (mac !== undefined) body.attribute(NeighbourAttribute.LLADDR, parseMac(mac));
    return {
        type: MessageType.NEWNEIGH,
        flags: CREATE_OR_REPLACE,
        body: body.finish(),
        label: `probe neighbour ${formatIp(ip)} on link ${index}`,
    };
}

/**
 * The request that deletes a neighbour entry; the absence of the entry or link is no failure. Throws `NetlinkError`
 * `BAD_ARGUMENT` for an index that is not valid.
 */
export function deleteNeighbour({ index, ip }: NeighbourKey): Request {
    const body = ndmsg({ index, ip }, 0).attribute(NeighbourAttribute.DST, ipToBytes(ip));
    return {
        type: MessageType.DELNEIGH,
        flags: 0,
        body: body.finish(),
        label: `delete neighbour ${formatIp(ip)} on link ${index}`,
        absentCodes: ["ENOENT", "ENODEV"],
    };
}

function ndmsg({ index, ip }: NeighbourKey, state: number, flags = 0): Writer {
    return new Writer({ object: () => `neighbour ${formatIp(ip)} on link ${index}` })
        .u8(familyNumber(ip.family))
        .u8(0)
        .u16(0)
        .u32(linkIndex(index))
        .u16(state, "state")
        .u8(flags, "flags")
        .u8(0);
}
