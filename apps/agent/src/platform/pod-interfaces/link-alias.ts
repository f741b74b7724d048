import { formatIp, parseIp, type IpAddress } from "@antrea/ip";
import type { Attachment } from "./attachment.ts";
import { networkAliasMark } from "./network-alias.ts";
import { isNetworkHash, networkHash } from "./network-mark.ts";
import { fitsAlias, isolatedMark, none, readAddress, readVlan, separator } from "./record-text.ts";
import { isPoolRecord, type InterfaceAddress, type PodRecord } from "./record.ts";

/** Prefix and format of our aliases: 1 has addresses of the Node's podCIDRs, 2 also contains their gateways. */
const aliasMark = { subnet: "antrea1", pool: "antrea2" } as const;

const ourMarks: ReadonlySet<string> = new Set([...Object.values(aliasMark), networkAliasMark]);

/**
 * Encodes the record as link alias for `fromAlias`, words separated by spaces, at most 255 bytes (IFALIASZ,
 * linux/if.h): container ID 64, UID 36, two addresses with prefix lengths 62 and their gateways 56, interface 15. Names
 * of Pods and pools do not fit; they are resolved by the UID and the allocations, and the network name is hashed. If
 * addresses, container ID or UID are longer than usual, the hash is omitted first, then the UID, and if necessary half
 * of the boot ID.
 */
export function toAlias(record: PodRecord): string {
    const hash = networkHash(record.network);
    const alias = aliasWith(record, record.podUid, 8, hash);
    if (fitsAlias(alias)) return alias;
    const unnamed = aliasWith(record, record.podUid, 8);
    if (fitsAlias(unnamed)) return unnamed;
    const short = aliasWith(record, "", 8);
    return fitsAlias(short) ? short : aliasWith(record, "", 4);
}

function aliasWith(record: PodRecord, podUid: string, bootLength: number, hash?: string): string {
    const { containerId, ifName, vlan, isolated = false } = record;
    const boot = record.bootId.slice(0, bootLength);
    const addresses = record.addresses.map((one) => `${formatIp(one.ip)}/${one.prefixLength}`).join(separator);
    const identity = [containerId, ifName, podUid, addresses, boot];
    const isPool = isPoolRecord(record);
    // those of the podCIDRs follow from the addresses
    const gateways = isPool ? record.addresses.map((one) => formatIp(one.gateway)).join(separator) : none;
    const words = [isPool ? aliasMark.pool : aliasMark.subnet, ...identity, gateways, String(vlan)];
    if (hash !== undefined) return [...words, isolated ? isolatedMark : none, hash].join(" ");
    if (isolated) return [...words, isolatedMark].join(" ");
    // Without the optional words the alias has the format of earlier agents.
    const length = !isPool ? 6 : vlan === 0 ? 7 : 8;
    return words.slice(0, length).join(" ");
}

/**
 * The alias of a link whose addresses are not known yet: `containerOfAlias` finds its container, `fromAlias` no record.
 */
export function pendingAlias(containerId: string): string {
    return `${aliasMark.pool} ${containerId}`;
}

/**
 * The alias of a host end whose record is gone: `containerOfAlias` returns "" for it, and the sweep deletes such links.
 */
export const releasedAlias = `${aliasMark.subnet} released`;

/**
 * The container ID of a link created by this agent, by its alias: "" if the link is released; undefined for other links
 * and without an alias.
 */
export function containerOfAlias(alias: string | undefined): string | undefined {
    if (alias === releasedAlias) return "";
    const [mark = "", containerId] = (alias ?? "").split(" ");
    return ourMarks.has(mark) && containerId ? containerId : undefined;
}

/** The fields of an interface that a link alias contains, as `fromAlias` decodes them. */
export interface AliasRecord extends Attachment {
    /** "" if there was no room. */
    readonly podUid: string;
    /** With a gateway if and only if they are from a pool. */
    readonly addresses: readonly (Omit<InterfaceAddress, "gateway"> & { readonly gateway: IpAddress | undefined })[];
    /** 0 is untagged. */
    readonly vlan: number;
    /** The first eight or four characters of the boot ID. */
    readonly bootId: string;
    /** See PodRecord. */
    readonly isolated: boolean;
    /** Hash of the name of its CNI network; undefined if an earlier agent wrote the alias, or there was no room. */
    readonly networkHash: string | undefined;
}

/**
 * Decodes a link alias; undefined if it is not from this agent, has no addresses (`pendingAlias`, `releasedAlias`), or
 * is invalid.
 */
export function fromAlias(alias: string | undefined): AliasRecord | undefined {
    const [mark, containerId, ifName, podUid, addresses, bootId, ...rest] = (alias ?? "").split(" ");
    const [gateways, vlan, isolated, hash] = rest;
    const isPool = mark === aliasMark.pool;
    if (!isPool && mark !== aliasMark.subnet) return undefined;
    if (!containerId || !ifName || podUid === undefined || !addresses || bootId === undefined) return undefined;
    try {
        const vias = isPool ? (gateways ?? "").split(separator).map((text) => parseIp(text)) : [];
        return {
            containerId,
            ifName,
            podUid,
            addresses: addresses.split(separator).map((text, index) => {
                const [ip = "", length = ""] = text.split("/");
                return { ...readAddress(ip, length), gateway: vias[index] };
            }),
            vlan: readVlan(vlan ?? "0"),
            bootId,
            isolated: isolated === isolatedMark,
            networkHash: isNetworkHash(hash) ? hash : undefined,
        };
    } catch {
        return undefined;
    }
}
