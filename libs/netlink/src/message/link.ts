import { formatMac, parseMac } from "@antrea/ip";
import { badArgument } from "../errors.ts";
import { type Link, type LinkChanges } from "../types/link.ts";
import { MAX_ALTERNATIVE_NAME_BYTES } from "./alternative-name.ts";
import { Attributes, listAttributes, textOf } from "./attributes.ts";
import {
    AddressFamily,
    LinkAttribute,
    LinkFlag,
    LinkInfoAttribute,
    MessageFlag,
    MessageType,
    SKIP_STATS,
} from "./constants.ts";
import { ifinfomsg, type SettableFlags } from "./ifinfomsg.ts";
import { aliasBytes, checkedGroup, checkedMtu, checkedName, linkIndex, MAX_NAME_BYTES } from "./link-checks.ts";
import { Reader } from "./reader.ts";
import { type Query, type Request } from "./request.ts";
import { Writer } from "./writer.ts";

/** Identifies a link: a number is its index, a text of 1 to 127 bytes its name or an alternative name. */
export type LinkKey = number | string;

const MAC_BYTES = 6;

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
