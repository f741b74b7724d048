import { AntreaError } from "@antrea/errors";
import { formatIp, parseIp, parseMac, type IpAddress } from "@antrea/ip";
import { isNetworkHash, networkHash } from "./network-mark.ts";

/** One address of a Pod interface, with all that ADD's answer needs, so that nothing is looked up again later. */
export interface PodAddress {
    readonly ip: IpAddress;
    readonly prefixLength: number;
    readonly gateway: IpAddress;
    /**
     * The IPPool that it is claimed from; undefined for an address of this Node's subnet, "" when the database was lost
     * and nobody has told yet.
     */
    readonly pool?: string | undefined;
}

/**
 * The record of one Pod interface. OVSDB holds it in the external_ids of the port; the alias of the host end of the
 * veth pair repeats what is needed to rebuild it when the database is lost.
 */
export interface PodRecord {
    readonly containerId: string;
    readonly ifName: string;
    readonly podNamespace: string;
    readonly podName: string;
    readonly podUid: string;
    readonly netns: string;
    readonly hostIfName: string;
    readonly mac: string;
    readonly addresses: readonly PodAddress[];
    /** VLAN of the addresses; 0 is untagged. */
    readonly vlan: number;
    /** /proc/sys/kernel/random/boot_id of when the interface was made: namespaces do not outlive a boot. */
    readonly bootId: string;
    /**
     * The interface has no flows and no route, because its address is, or may soon be, another's. In the record, so that
     * an agent that starts again knows it without the API server.
     */
    readonly isolated?: boolean | undefined;
    /**
     * The name of the CNI network that the interface belongs to; after the database was lost, what is left of it, see
     * `isOfNetwork`. Undefined in the record of an agent that did not write it: to GC such a one is of the network of the
     * Node's configuration.
     */
    readonly network?: string | undefined;
}

/** Records are kept by container and interface, the identity that CNI gives an attachment. */
export function recordKey(containerId: string, ifName: string): string {
    return `${containerId}/${ifName}`;
}

const separator = ",";
const networkKey = "cni-network";

/** True when addresses of the record are claimed from IPPools. */
export function isPoolRecord(record: Pick<PodRecord, "addresses">): boolean {
    return record.addresses.some((address) => address.pool !== undefined);
}

/**
 * The external_ids of a port whose addresses are not known yet: whoever finds them removes the port, for nobody was told
 * of it.
 */
export function unfinishedExternalIds(
    request: Pick<PodRecord, "containerId" | "ifName" | "podNamespace" | "podName" | "podUid" | "bootId">,
): Readonly<Record<string, string>> {
    return {
        "antrea-type": "container",
        "container-id": request.containerId,
        "if-dev": request.ifName,
        "pod-namespace": request.podNamespace,
        "pod-name": request.podName,
        "pod-uid": request.podUid,
        "boot-id": request.bootId,
    };
}

/** The record as external_ids of a Port. Keys that Antrea has are Antrea's; the others are new. */
export function toExternalIds(record: PodRecord): Readonly<Record<string, string>> {
    return {
        "antrea-type": "container",
        "container-id": record.containerId,
        "if-dev": record.ifName,
        "pod-namespace": record.podNamespace,
        "pod-name": record.podName,
        "pod-uid": record.podUid,
        "net-ns": record.netns,
        "attached-mac": record.mac,
        "ip-address": record.addresses.map((address) => formatIp(address.ip)).join(separator),
        "ip-prefix-length": record.addresses.map((address) => String(address.prefixLength)).join(separator),
        "ip-gateway": record.addresses.map((address) => formatIp(address.gateway)).join(separator),
        ...(isPoolRecord(record)
            ? { "ip-pool": record.addresses.map((address) => address.pool ?? "").join(separator) }
            : {}),
        ...(record.vlan === 0 ? {} : { vlan: String(record.vlan) }),
        "boot-id": record.bootId,
        ...(record.isolated === true ? { isolated: "true" } : {}),
        ...(record.network === undefined ? {} : { [networkKey]: record.network }),
    };
}

/**
 * Reads a record from a Port. Undefined when the port is not a Pod interface of ours; "unfinished" when it is one
 * without addresses or with text that cannot be read: nobody was ever told of such an interface.
 */
export function fromExternalIds(
    hostIfName: string,
    ids: ReadonlyMap<string, string>,
): PodRecord | "unfinished" | undefined {
    if (ids.get("antrea-type") !== "container") return undefined;
    const containerId = ids.get("container-id") ?? "";
    const addresses = readAddresses(ids);
    const mac = ids.get("attached-mac") ?? "";
    // An earlier agent wrote an empty name when it rebuilt a record from its link.
    const network = ids.get(networkKey) || undefined;
    if (containerId === "" || !isMac(mac) || addresses === undefined) return "unfinished";
    return {
        containerId,
        ifName: ids.get("if-dev") ?? "eth0",
        podNamespace: ids.get("pod-namespace") ?? "",
        podName: ids.get("pod-name") ?? "",
        podUid: ids.get("pod-uid") ?? "",
        netns: ids.get("net-ns") ?? "",
        hostIfName,
        mac,
        addresses,
        vlan: readVlan(ids.get("vlan") ?? "0"),
        bootId: ids.get("boot-id") ?? "",
        ...(ids.get("isolated") === "true" ? { isolated: true } : {}),
        ...(network === undefined ? {} : { network }),
    };
}

function readAddresses(ids: ReadonlyMap<string, string>): readonly PodAddress[] | undefined {
    const [ip, length, gateway] = ["ip-address", "ip-prefix-length", "ip-gateway"].map((key) =>
        ids.get(key)?.split(separator),
    );
    if (ip === undefined || length?.length !== ip.length || gateway?.length !== ip.length) return undefined;
    const pools = ids.get("ip-pool")?.split(separator);
    try {
        return ip.map((text, index) => ({
            ...readAddress(text, length[index] ?? ""),
            gateway: parseIp(gateway[index] ?? ""),
            ...(pools === undefined ? {} : { pool: pools[index] ?? "" }),
        }));
    } catch {
        return undefined;
    }
}

function readVlan(text: string): number {
    return /^[0-9]{1,4}$/.test(text) ? Number(text) : 0;
}

class RecordError extends AntreaError<"BAD_PREFIX_LENGTH"> {}

/** An address and the length of its prefix. Throws when either is none. */
function readAddress(ip: string, length: string): { readonly ip: IpAddress; readonly prefixLength: number } {
    const address = parseIp(ip);
    const prefixLength = /^[0-9]{1,3}$/.test(length) ? Number(length) : Infinity;
    if (prefixLength <= (address.family === 4 ? 32 : 128)) return { ip: address, prefixLength };
    throw new RecordError("BAD_PREFIX_LENGTH", "peer", `${length} is no prefix length of ${ip}`);
}

function isMac(text: string): boolean {
    try {
        parseMac(text);
        return true;
    } catch {
        return false;
    }
}

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
export interface AliasRecord {
    readonly containerId: string;
    readonly ifName: string;
    readonly podUid: string;
    /** With a gateway exactly when they are of a pool. */
    readonly addresses: readonly {
        readonly ip: IpAddress;
        readonly prefixLength: number;
        readonly gateway: IpAddress | undefined;
    }[];
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
