import { formatIp } from "@antrea/ip";
import type { NetworkRecord } from "./network-record.ts";
import { packAddresses, unpackAddresses } from "./packed-addresses.ts";
import { fitsAlias, isMac, isolatedMark, none, readGateways, readMtu, readOwnVlan, separator } from "./record-text.ts";

/** Prefix and format of the aliases. */
export const networkAliasMark = "antrea3";
/** The interface is that of a call of a meta plugin. Ignored by agents that do not support it. */
const metaPluginMark = "meta";

/**
 * Encodes the record as link alias for `fromNetworkAlias`, words separated by spaces, at most 255 bytes (IFALIASZ,
 * linux/if.h): container ID 96, interface 15, UID 36, MAC 17, VLAN, MTU, half of the boot ID, a mark, the gateways of default
 * routes, the addresses of IPPools, see `packAddresses`, and who attached it. What must not get a second owner comes first:
 * without room the last word is left out, then the UID, then the gateways, then addresses from the last on. With a container ID of 64 bytes there is room for 18
 * addresses of IPv4 or 5 of IPv6. Static addresses, which nobody allocates, are not in it.
 */
export function toNetworkAlias(record: NetworkRecord): string {
    const { containerId, ifName, podUid, mac, vlan, mtu, bootId, isolated, attachedBy } = record;
    const gateways = record.defaultGateways.map(formatIp).join(separator) || none;
    const mark = isolated === true ? isolatedMark : none;
    const words = (uid: string, more: readonly string[]): string => {
        const needed = more.slice(0, more.findLastIndex((word) => word !== none) + 1);
        return [networkAliasMark, containerId, ifName, uid, mac, vlan, mtu, bootId.slice(0, 8) || none, ...needed].join(
            " ",
        );
    };
    const ofPools = record.addresses.filter(({ pool }) => pool !== undefined);
    const first = (count: number): string => packAddresses(ofPools.slice(0, count)) || none;
    const all = first(ofPools.length);
    const uid = podUid || none;
    const candidates = [
        [uid, gateways, attachedBy === undefined ? none : metaPluginMark],
        [uid, gateways, none],
        [none, gateways, none],
        [uid, none, none],
    ] as const;
    for (const [text, vias, by] of candidates) {
        const alias = words(text, [mark, vias, all, by]);
        if (fitsAlias(alias)) return alias;
    }
    for (let count = ofPools.length; count >= 0; count -= 1) {
        const alias = words(none, [mark, none, first(count)]);
        if (fitsAlias(alias)) return alias;
    }
    return words(none, []);
}

/** The fields of a record that a link alias contains; of its addresses neither gateways nor IPPools. */
export type NetworkAlias = Pick<
    NetworkRecord,
    | "addresses"
    | "containerId"
    | "ifName"
    | "podUid"
    | "mac"
    | "vlan"
    | "mtu"
    | "defaultGateways"
    | "bootId"
    | "isolated"
    | "attachedBy"
>;

/** Decodes a link alias; undefined if it is not of such an interface, or invalid. The boot ID is cut to 8 characters. */
export function fromNetworkAlias(alias: string | undefined): NetworkAlias | undefined {
    const [mark, containerId, ifName, podUid, mac, vlan, mtu, bootId, ...more] = (alias ?? "").split(" ");
    const [isolated, gateways, packed = none, attachedBy] = more;
    if (mark !== networkAliasMark || !containerId || !ifName || podUid === undefined || mac === undefined)
        return undefined;
    const [ownMtu, ownVlan] = [readMtu(mtu), readOwnVlan(vlan ?? "")];
    const defaultGateways = readGateways(gateways === none ? undefined : gateways);
    const addresses = unpackAddresses(packed === none ? "" : packed);
    if (!isMac(mac) || ownMtu === undefined || ownVlan === undefined || bootId === undefined) return undefined;
    if (defaultGateways === undefined || addresses === undefined) return undefined;
    return {
        containerId,
        ifName,
        podUid: podUid === none ? "" : podUid,
        mac,
        addresses: addresses.map((address) => ({ ...address, gateway: undefined, pool: "" })),
        vlan: ownVlan,
        mtu: ownMtu,
        defaultGateways,
        bootId: bootId === none ? "" : bootId,
        ...(isolated === isolatedMark ? { isolated: true } : {}),
        ...(attachedBy === metaPluginMark ? { attachedBy: "meta-plugin" } : {}),
    };
}
