import { familyBits, formatIp, ipToBytes, type IpAddress } from "@antrea/ip";
import { badArgument } from "../errors.ts";
import { type Address, type AddressKey, type AddressLifetime, type AddressOptions } from "../types/address.ts";
import { Attributes } from "./attributes.ts";
import { AddressAttribute, AddressFamily, AddressFlag, MessageFlag, MessageType } from "./constants.ts";
import { checkedLength, familyNumber, familyOf } from "./family.ts";
import { linkIndex } from "./link-checks.ts";
import { Reader } from "./reader.ts";
import { CREATE, CREATE_OR_REPLACE, type Query, type Request } from "./request.ts";
import { RouteScope } from "./route-constants.ts";
import { Writer } from "./writer.ts";

/** INFINITY_LIFE_TIME of struct ifa_cacheinfo. */
const FOR_EVER = 0xffffffff;

/**
 * Reads the payload of RTM_NEWADDR and RTM_DELADDR: struct ifaddrmsg and IFA_*. Undefined for a family other than IPv4
 * and IPv6, or without an address. Throws `NetlinkError` `SHORT_MESSAGE`, `BAD_MESSAGE`.
 */
export function decodeAddress(payload: Uint8Array): Address | undefined {
    const reader = new Reader(payload, "address");
    const family = familyOf(reader.u8());
    const prefixLength = reader.u8();
    const shortFlags = reader.u8();
    const scope = reader.u8();
    const index = reader.u32();
    if (family === undefined) return undefined;
    const attributes = new Attributes(reader.rest(), `address on link ${index}`);
    const local = attributes.ip(AddressAttribute.LOCAL, family);
    const address = attributes.ip(AddressAttribute.ADDRESS, family);
    const ip = local ?? address;
    if (ip === undefined) return undefined;
    const label = attributes.text(AddressAttribute.LABEL);
    // IFA_FLAGS has all bits, also those that do not fit into the 8 bits of the header.
    const flags = attributes.u32(AddressAttribute.FLAGS) ?? shortFlags;
    const hasPeer = local !== undefined && address !== undefined && local.value !== address.value;
    const broadcast = family === 4 ? attributes.ip(AddressAttribute.BROADCAST, family) : undefined;
    const lifetime = lifetimeOf(attributes.bytes(AddressAttribute.CACHEINFO));
    const metric = attributes.u32(AddressAttribute.RT_PRIORITY);
    const protocol = attributes.bytes(AddressAttribute.PROTO)?.[0];
    return {
        index,
        ip,
        prefixLength: checkedLength(prefixLength, family, `address on link ${index}`),
        ...(hasPeer && { peer: address }),
        scope,
        ...(label !== undefined && { label }),
        permanent: (flags & AddressFlag.PERMANENT) !== 0,
        secondary: family === 4 && (flags & AddressFlag.SECONDARY) !== 0,
        tentative: (flags & AddressFlag.TENTATIVE) !== 0,
        dadFailed: (flags & AddressFlag.DADFAILED) !== 0,
        flags,
        ...(broadcast !== undefined && { broadcast }),
        ...(lifetime !== undefined && { lifetime }),
        ...(metric !== undefined && { metric }),
        ...(protocol !== undefined && { protocol }),
    };
}

/** The first two numbers of struct ifa_cacheinfo. */
function lifetimeOf(cacheInfo: Uint8Array | undefined): AddressLifetime | undefined {
    if (cacheInfo === undefined) return undefined;
    const reader = new Reader(cacheInfo, "address, lifetime");
    const preferred = reader.u32();
    const valid = reader.u32();
    if (valid === FOR_EVER && preferred === FOR_EVER) return undefined;
    const seconds = (value: number): number => (value === FOR_EVER ? Infinity : value);
    return { preferredSeconds: seconds(preferred), validSeconds: seconds(valid) };
}

/**
 * The query for the addresses of one link or, without `index`, of all; a list, for `Exchange.dump`. Throws
 * `NetlinkError` `BAD_ARGUMENT` for an index outside 1 to 2^31 - 1.
 */
export function queryAddresses(index?: number): Query {
    const body = new Writer().u32(AddressFamily.UNSPEC).u32(index === undefined ? 0 : linkIndex(index));
    const label = `list addresses of ${index === undefined ? "all links" : `link ${index}`}`;
    return { type: MessageType.GETADDR, flags: MessageFlag.DUMP, body: body.finish(), label };
}

/**
 * The request that adds an address; the kernel answers `EEXIST` if it exists. Throws `NetlinkError` `BAD_ARGUMENT` for
 * an index, prefix length or lifetime that is not valid, or a number that does not fit its field.
 */
export function addAddress(options: AddressOptions): Request {
    return { ...newAddress(options), flags: CREATE, label: `add address ${textOf(options)}` };
}

/**
 * The request that adds an address, or sets lifetime, metric and, for IPv6, flags of the existing one. Throws as
 * `addAddress`.
 */
export function replaceAddress(options: AddressOptions): Request {
    return { ...newAddress(options), flags: CREATE_OR_REPLACE, label: `replace address ${textOf(options)}` };
}

/**
 * The request that deletes an address, as `AddressKey` identifies it; its absence, or that of the link, is no failure.
 * Throws `NetlinkError` `BAD_ARGUMENT` for an index or prefix length that is not valid.
 */
export function deleteAddress(key: AddressKey): Request {
    // Without IFA_ADDRESS the kernel does not compare the prefix length of an IPv4 address.
    const body = ifaddrmsg(key, 0, RouteScope.UNIVERSE)
        .attribute(AddressAttribute.LOCAL, ipToBytes(key.ip))
        .attribute(AddressAttribute.ADDRESS, ipToBytes(key.peer ?? key.ip));
    return {
        type: MessageType.DELADDR,
        flags: 0,
        body: body.finish(),
        label: `delete address ${textOf(key)}`,
        absentCodes: ["EADDRNOTAVAIL", "ENODEV"],
    };
}

function newAddress(options: AddressOptions): Pick<Request, "type" | "body"> {
    const { ip, prefixLength } = options;
    const flags =
        (options.flags ?? 0) |
        (options.noDad === true && ip.family === 6 ? AddressFlag.NODAD : 0) |
        (options.noPrefixRoute === true ? AddressFlag.NOPREFIXROUTE : 0);
    const body = ifaddrmsg(options, flags, options.scope ?? scopeOf(ip))
        .attribute(AddressAttribute.LOCAL, ipToBytes(ip))
        .attribute(AddressAttribute.ADDRESS, ipToBytes(options.peer ?? ip))
        .attributeU32(AddressAttribute.FLAGS, flags, "flags");
    const broadcast = options.broadcast ?? usualBroadcast(ip, prefixLength);
    if (broadcast !== "none") body.attribute(AddressAttribute.BROADCAST, ipToBytes(broadcast));
    if (options.label !== undefined) body.attributeText(AddressAttribute.LABEL, options.label);
    if (options.metric !== undefined) body.attributeU32(AddressAttribute.RT_PRIORITY, options.metric, "metric");
    if (options.protocol !== undefined) body.attributeU8(AddressAttribute.PROTO, options.protocol, "protocol");
    const { lifetime } = options;
    if (lifetime !== undefined) {
        const { preferredSeconds, validSeconds } = lifetime;
        body.nest(AddressAttribute.CACHEINFO, () =>
            body.u32(wireSeconds(preferredSeconds)).u32(wireSeconds(validSeconds)).u32(0).u32(0),
        );
    }
    return { type: MessageType.NEWADDR, body: body.finish() };
}

function ifaddrmsg(key: AddressKey, flags: number, scope: number): Writer {
    const bits = familyBits(key.ip.family);
    if (!Number.isInteger(key.prefixLength) || key.prefixLength < 0 || key.prefixLength > bits) {
        throw badArgument(`prefix length of ${formatIp(key.ip)}`, key.prefixLength, `0 to ${bits} allowed`);
    }
    return new Writer({ object: () => `address ${textOf(key)}` })
        .u8(familyNumber(key.ip.family))
        .u8(key.prefixLength)
        .u8(flags & 0xff)
        .u8(scope, "scope")
        .u32(linkIndex(key.index));
}

function scopeOf(ip: IpAddress): number {
    return ip.family === 4 && ip.value >> 24n === 127n ? RouteScope.HOST : RouteScope.UNIVERSE;
}

function usualBroadcast(ip: IpAddress, prefixLength: number): IpAddress | "none" {
    if (ip.family !== 4 || prefixLength >= 31 || scopeOf(ip) !== RouteScope.UNIVERSE) return "none";
    return { family: 4, value: ip.value | ((1n << BigInt(32 - prefixLength)) - 1n) };
}

function wireSeconds(seconds: number): number {
    if (seconds === Infinity) return FOR_EVER;
    if (Number.isInteger(seconds) && seconds >= 0 && seconds < FOR_EVER) return seconds;
    throw badArgument("lifetime of an address", seconds, "whole seconds or Infinity expected");
}

function textOf(key: AddressKey): string {
    return `${formatIp(key.ip)}/${key.prefixLength} on link ${key.index}`;
}
