import { formatMac, parseMac } from "@antrea/ip";
import { badArgument } from "../errors.ts";
import { type Link, type LinkChanges, type VethOptions, type VethPeerOptions } from "../types.ts";
import { Attributes, listAttributes, textOf } from "./attributes.ts";
import { Reader, Writer } from "./bytes.ts";
import {
    AddressFamily,
    LinkAttribute,
    LinkFlag,
    LinkInfoAttribute,
    MessageFlag,
    MessageType,
    NESTED,
    SKIP_STATS,
} from "./constants.ts";
import { CREATE, type Query, type Request } from "./request.ts";

/** Identifies a link: a number is its index, a text of 1 to 127 bytes its name or an alternative name. */
export type LinkKey = number | string;

const MAX_NAME_BYTES = 15;
const MAX_ALTERNATIVE_NAME_BYTES = 127;
const MAX_ALIAS_BYTES = 255;
const MAC_BYTES = 6;
const MAX_QUEUES = 4096;

/**
 * Reads the payload of RTM_NEWLINK and RTM_DELLINK: struct ifinfomsg and IFLA_*. Undefined for messages of a bridge
 * about its ports (AF_BRIDGE), which have the same types but whose "deleted" means "left the bridge". Throws
 * `NetlinkError` `SHORT_MESSAGE`, `BAD_MESSAGE`.
 */
export function decodeLink(payload: Uint8Array): Link | undefined {
    const reader = new Reader(payload, "link");
    const family = reader.u8();
    reader.skip(1); // padding
    const type = reader.u16();
    const index = reader.i32();
    const flags = reader.u32();
    reader.skip(4); // ifi_change
    if (family !== AddressFamily.UNSPEC) return undefined;
    const attributes = new Attributes(reader.rest(), `link ${index}`);
    const mac = attributes.bytes(LinkAttribute.ADDRESS);
    const kind = attributes.nested(LinkAttribute.LINKINFO)?.text(LinkInfoAttribute.KIND);
    const master = attributes.u32(LinkAttribute.MASTER);
    const peerIndex = attributes.u32(LinkAttribute.LINK);
    const peerNetnsId = attributes.i32(LinkAttribute.LINK_NETNSID);
    const parentDevice = attributes.text(LinkAttribute.PARENT_DEV_NAME);
    const alias = attributes.text(LinkAttribute.IFALIAS);
    const group = attributes.u32(LinkAttribute.GROUP) ?? 0;
    return {
        index,
        name: attributes.text(LinkAttribute.IFNAME) ?? "",
        ...(kind !== undefined && { kind }),
        type,
        mac: mac?.length === MAC_BYTES ? formatMac(mac) : "",
        mtu: attributes.u32(LinkAttribute.MTU) ?? 0,
        up: (flags & LinkFlag.UP) !== 0,
        running: (flags & LinkFlag.RUNNING) !== 0,
        loopback: (flags & LinkFlag.LOOPBACK) !== 0,
        promiscuous: (flags & LinkFlag.PROMISCUOUS) !== 0,
        ...(master !== undefined && { master }),
        ...(peerIndex !== undefined && { peerIndex }),
        ...(peerNetnsId !== undefined && { peerNetnsId }),
        ...(parentDevice !== undefined && { parentDevice }),
        ...(alias !== undefined && { alias }),
        group,
        altNames: altNames(attributes.bytes(LinkAttribute.PROP_LIST), index),
    };
}

function altNames(list: Uint8Array | undefined, index: number): readonly string[] {
    if (list === undefined) return [];
    return listAttributes(list, `link ${index}, properties`)
        .filter(([type]) => type === LinkAttribute.ALT_IFNAME)
        .map(([, payload]) => textOf(payload));
}

/** The query for all links, without statistics (`SKIP_STATS`); a list, for `Exchange.dump`. */
export function queryLinks(): Query {
    const body = ifinfomsg(new Writer(), {}).attributeU32(LinkAttribute.EXT_MASK, SKIP_STATS);
    return { type: MessageType.GETLINK, flags: MessageFlag.DUMP, body: body.finish(), label: "list links" };
}

/**
 * The query for one link, without statistics (`SKIP_STATS`), for `Exchange.ask`. Throws `NetlinkError` `BAD_ARGUMENT`
 * unless the index is an integer from 1 to 2^31 - 1, or the name has 1 to 127 bytes.
 */
export function queryLink(key: LinkKey): Query {
    const body = linkKey(new Writer(), key).attributeU32(LinkAttribute.EXT_MASK, SKIP_STATS);
    return { type: MessageType.GETLINK, flags: 0, body: body.finish(), label: `get link ${key}` };
}

/**
 * The request that creates a veth pair: one end here, the other in the namespace of the descriptor `netnsFd`, which
 * must stay open until the message is sent. The kernel accepts no alias at creation (`options.alias` is not read): set
 * it with `setLink`. Throws `NetlinkError` `BAD_ARGUMENT` for a name, MTU, group or queues out of range, `IpError` for
 * a MAC address.
 */
export function createVeth(options: VethOptions, netnsFd: number): Request {
    const { peer } = options;
    const body = ifinfomsg(new Writer(), options.up === true ? { up: true } : {});
    endOfVeth(body, options, options.queues);
    if (options.group !== undefined) body.attributeU32(LinkAttribute.GROUP, checkedGroup(options.group));
    body.nest(LinkAttribute.LINKINFO, () => {
        body.attributeText(LinkInfoAttribute.KIND, "veth");
        body.nest(LinkInfoAttribute.DATA, () => {
            body.nest(LinkInfoAttribute.VETH_PEER, () => {
                ifinfomsg(body, {});
                endOfVeth(body, peer, options.queues);
                body.attributeU32(LinkAttribute.NET_NS_FD, netnsFd);
            });
        });
    });
    return {
        type: MessageType.NEWLINK,
        flags: CREATE,
        body: body.finish(),
        label: `create veth ${options.name} with peer ${peer.name} in ${peer.netnsPath}`,
    };
}

function endOfVeth(writer: Writer, end: VethOptions | VethPeerOptions, queues: number | undefined): void {
    writer
        .attributeText(LinkAttribute.IFNAME, checkedName(end.name))
        .attribute(LinkAttribute.ADDRESS, parseMac(end.mac))
        .attributeU32(LinkAttribute.MTU, checkedMtu(end.mtu));
    if (queues === undefined) return;
    if (!Number.isInteger(queues) || queues < 1 || queues > MAX_QUEUES) {
        throw badArgument("queues of a veth pair", queues, `1 to ${MAX_QUEUES} allowed`);
    }
    writer.attributeU32(LinkAttribute.NUM_TX_QUEUES, queues).attributeU32(LinkAttribute.NUM_RX_QUEUES, queues);
}

/**
 * The request that changes one link; `netnsFd` is the descriptor of `changes.netnsPath`, open until the message is
 * sent. Throws `NetlinkError` `BAD_ARGUMENT` for a key or change that is not valid (`LinkKey`, `LinkChanges`) and for a
 * rename of a link given by name; `IpError` for a MAC address.
 */
export function setLink(key: LinkKey, changes: LinkChanges, netnsFd?: number): Request {
    if (changes.name !== undefined && typeof key === "string") {
        throw badArgument(`new name of link ${key}`, changes.name, "a link is renamed by its index, not by its name");
    }
    const body = linkKey(new Writer({ object: () => `link ${key}` }), key, changes);
    if (changes.mtu !== undefined) body.attributeU32(LinkAttribute.MTU, checkedMtu(changes.mtu));
    if (changes.mac !== undefined) body.attribute(LinkAttribute.ADDRESS, parseMac(changes.mac));
    if (changes.name !== undefined) body.attributeText(LinkAttribute.IFNAME, checkedName(changes.name));
    if (changes.alias !== undefined) body.attribute(LinkAttribute.IFALIAS, aliasBytes(changes.alias));
    if (changes.group !== undefined) body.attributeU32(LinkAttribute.GROUP, checkedGroup(changes.group));
    if (changes.master !== undefined) body.attributeU32(LinkAttribute.MASTER, changes.master, "master");
    if (netnsFd !== undefined) body.attributeU32(LinkAttribute.NET_NS_FD, netnsFd);
    const what = Object.entries(changes).flatMap(([field, value]) => (value === undefined ? [] : `${field} ${value}`));
    return { type: MessageType.SETLINK, flags: 0, body: body.finish(), label: `set link ${key}: ${what.join(", ")}` };
}

/**
 * The request that adds an alternative name of 1 to 127 bytes; the kernel answers `EEXIST` if a link has it. Throws
 * `NetlinkError` `BAD_ARGUMENT` for a name of another length, or an index that is not valid.
 */
export function addAltName(index: number, name: string): Request {
    return {
        type: MessageType.NEWLINKPROP,
        flags: CREATE | MessageFlag.APPEND,
        body: properties(index, name),
        label: `add alternative name ${name} to link ${index}`,
    };
}

/**
 * The request that removes an alternative name of a link; the absence of either is no failure, but the kernel answers
 * `EINVAL` if another link has it. Throws as `addAltName`.
 */
export function deleteAltName(index: number, name: string): Request {
    return {
        type: MessageType.DELLINKPROP,
        flags: 0,
        body: properties(index, name),
        label: `delete alternative name ${name} of link ${index}`,
        absentCodes: ["ENOENT", "ENODEV"],
    };
}

function properties(index: number, name: string): Uint8Array {
    const length = new TextEncoder().encode(name).length;
    if (length === 0 || length > MAX_ALTERNATIVE_NAME_BYTES) {
        throw badArgument("alternative name of a link", name, `1 to ${MAX_ALTERNATIVE_NAME_BYTES} bytes allowed`);
    }
    const body = ifinfomsg(new Writer(), { index: linkIndex(index) });
    body.nest(LinkAttribute.PROP_LIST | NESTED, () => body.attributeText(LinkAttribute.ALT_IFNAME, name));
    return body.finish();
}

/**
 * The request that deletes a link, or both ends of a veth pair; the absence of the link is no failure. Throws
 * `NetlinkError` `BAD_ARGUMENT` for a key that is not valid.
 */
export function deleteLink(key: LinkKey): Request {
    return {
        type: MessageType.DELLINK,
        flags: 0,
        body: linkKey(new Writer(), key).finish(),
        label: `delete link ${key}`,
        absentCodes: ["ENODEV"],
    };
}

type SettableFlags = Pick<LinkChanges, "up" | "promiscuous">;

function ifinfomsg(writer: Writer, fields: { readonly index?: number } & SettableFlags): Writer {
    const bit = (value: boolean | undefined, flag: number): readonly [number, number] =>
        value === undefined ? [0, 0] : [value ? flag : 0, flag];
    const [up, changeUp] = bit(fields.up, LinkFlag.UP);
    const [promiscuous, changePromiscuous] = bit(fields.promiscuous, LinkFlag.PROMISCUOUS);
    return writer
        .u32(AddressFamily.UNSPEC) // family, padding, type
        .u32(fields.index ?? 0)
        .u32(up | promiscuous)
        .u32(changeUp | changePromiscuous);
}

function linkKey(writer: Writer, key: LinkKey, { up, promiscuous }: SettableFlags = {}): Writer {
    if (typeof key === "number") return ifinfomsg(writer, { index: linkIndex(key), up, promiscuous });
    ifinfomsg(writer, { up, promiscuous });
    const length = new TextEncoder().encode(key).length;
    if (length === 0 || length > MAX_ALTERNATIVE_NAME_BYTES) {
        throw badArgument("name of a link", key, `1 to ${MAX_ALTERNATIVE_NAME_BYTES} bytes allowed`);
    }
    if (length > MAX_NAME_BYTES) return writer.attributeText(LinkAttribute.ALT_IFNAME, key);
    return writer.attributeText(LinkAttribute.IFNAME, key);
}

/** Returns the index of a link. Throws `NetlinkError` `BAD_ARGUMENT` unless it is an integer from 1 to 2^31 - 1. */
export function linkIndex(index: number): number {
    if (Number.isInteger(index) && index > 0 && index <= 0x7fffffff) return index;
    throw badArgument("index of a link", index, "a positive 31-bit number expected");
}

/**
 * Returns the name of a link. Throws `NetlinkError` `BAD_ARGUMENT` if it breaks the kernel's rule (dev_valid_name): 1
 * to 15 bytes without `/`, `:` and white space, neither `.` nor `..`.
 */
export function checkedName(name: string): string {
    const length = new TextEncoder().encode(name).length;
    if (length > 0 && length <= MAX_NAME_BYTES && !/[/:\s\0]/.test(name) && name !== "." && name !== "..") return name;
    throw badArgument("name of a link", name, `1 to ${MAX_NAME_BYTES} bytes without "/", ":" and spaces allowed`);
}

function checkedMtu(mtu: number): number {
    if (Number.isInteger(mtu) && mtu >= 68 && mtu <= 65_535) return mtu;
    throw badArgument("MTU of a link", mtu, "68 to 65535 allowed");
}

function checkedGroup(group: number): number {
    if (Number.isInteger(group) && group >= 0 && group <= 0x7fffffff) return group;
    throw badArgument("group of a link", group, "0 to 2147483647 allowed");
}

function aliasBytes(alias: string): Uint8Array {
    const bytes = new TextEncoder().encode(alias);
    if (bytes.length <= MAX_ALIAS_BYTES && !bytes.includes(0)) return bytes;
    throw badArgument("alias of a link", alias, `at most ${MAX_ALIAS_BYTES} bytes without NUL allowed`);
}
