import { formatIp, parseIp, type IpAddress } from "@antrea/ip";
import type { Attachment } from "./attachment.ts";
import { isNetworkHash, networkHash } from "./network-mark.ts";
import { readAddress, readVlan, separator } from "./record-text.ts";
import { isPoolRecord, type InterfaceAddress, type PodRecord } from "./record.ts";

/** Marks our aliases, and how they are written: 1 has addresses of the Node's subnet, 2 names their gateways too. */
const aliasMark = { subnet: "antrea1", pool: "antrea2" } as const;

/** The ninth word of the alias of an isolated interface; agents that do not know it ignore it. */
const isolatedMark = "iso";

/**
 * Stands in the alias for what an interface does not have, before a word that it has: the gateways of one of the Node's
 * subnet, which follow from its addresses, and the mark of one that is isolated.
 */
const none = "-";

const maxAliasBytes = 255;

/**
 * The record as link alias, at most 255 bytes (IFALIASZ, linux/if.h): container id 64, UID 36, two addresses with
 * prefix lengths 62 and their gateways 56, interface 15. Names of Pods and pools do not fit; they are found again by the
 * UID and by the claims, and of the network's name there is a hash. With longer addresses, container id or UID than usual
 * the hash is left out, then the UID, and if need be half of the boot id.
 */
export function toAlias(record: PodRecord): string {
    const hash = networkHash(record.network);
    const alias = aliasWith(record, record.podUid, 8, hash);
    if (fits(alias)) return alias;
    const unnamed = aliasWith(record, record.podUid, 8);
    if (fits(unnamed)) return unnamed;
    const short = aliasWith(record, "", 8);
    return fits(short) ? short : aliasWith(record, "", 4);
}

function fits(alias: string): boolean {
    return new TextEncoder().encode(alias).length <= maxAliasBytes;
}

function aliasWith(record: PodRecord, podUid: string, bootLength: number, hash?: string): string {
    const { containerId, ifName, vlan, isolated = false } = record;
    const boot = record.bootId.slice(0, bootLength);
    const addresses = record.addresses.map((one) => `${formatIp(one.ip)}/${one.prefixLength}`).join(separator);
    const identity = [containerId, ifName, podUid, addresses, boot];
    const isPool = isPoolRecord(record);
    const gateways = isPool ? record.addresses.map((one) => formatIp(one.gateway)).join(separator) : none;
    const words = [isPool ? aliasMark.pool : aliasMark.subnet, ...identity, gateways, String(vlan)];
    if (hash !== undefined) return [...words, isolated ? isolatedMark : none, hash].join(" ");
    if (isolated) return [...words, isolatedMark].join(" ");
    // Without what is not there an alias is as agents wrote it that knew no more words.
    const length = !isPool ? 6 : vlan === 0 ? 7 : 8;
    return words.slice(0, length).join(" ");
}

/** The alias of a link whose addresses are not known yet. */
export function pendingAlias(containerId: string): string {
    return `${aliasMark.pool} ${containerId}`;
}

/** The alias of a host end whose record is gone; the sweep deletes such links. */
export const releasedAlias = `${aliasMark.subnet} released`;

/** The container that a link of ours belongs, or belonged, to: "" when it is released; undefined for a link of others. */
export function containerOfAlias(alias: string | undefined): string | undefined {
    if (alias === releasedAlias) return "";
    const [mark, containerId] = (alias ?? "").split(" ");
    return (mark === aliasMark.subnet || mark === aliasMark.pool) && containerId ? containerId : undefined;
}

/** What a link alias tells of an interface. */
export interface AliasRecord extends Attachment {
    readonly podUid: string;
    /** With a gateway exactly when they are of a pool. */
    readonly addresses: readonly (Omit<InterfaceAddress, "gateway"> & { readonly gateway: IpAddress | undefined })[];
    readonly vlan: number;
    readonly bootId: string;
    readonly isolated: boolean;
    /** Of the name of its CNI network; undefined when an earlier agent wrote the alias, or there was no room. */
    readonly networkHash: string | undefined;
}

/** Reads a link alias; undefined when it is not one of ours. */
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
