import { AntreaError } from "@antrea/errors";
import { formatIp, parseIp, parseMac, type IpAddress } from "@antrea/ip";

/** One address of a Pod interface, with all that ADD's answer needs, so that nothing is looked up again later. */
export interface PodAddress {
    readonly ip: IpAddress;
    readonly prefixLength: number;
    readonly gateway: IpAddress;
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
    /** /proc/sys/kernel/random/boot_id of when the interface was made: namespaces do not outlive a boot. */
    readonly bootId: string;
}

/** Records are kept by container and interface, the identity that CNI gives an attachment. */
export function recordKey(containerId: string, ifName: string): string {
    return `${containerId}/${ifName}`;
}

const separator = ",";

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
        "boot-id": record.bootId,
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
    const addresses = readAddresses(ids.get("ip-address"), ids.get("ip-prefix-length"), ids.get("ip-gateway"));
    const mac = ids.get("attached-mac") ?? "";
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
        bootId: ids.get("boot-id") ?? "",
    };
}

function readAddresses(
    ips: string | undefined,
    lengths: string | undefined,
    gateways: string | undefined,
): readonly PodAddress[] | undefined {
    if (ips === undefined || lengths === undefined || gateways === undefined) return undefined;
    const ip = ips.split(separator);
    const length = lengths.split(separator);
    const gateway = gateways.split(separator);
    if (length.length !== ip.length || gateway.length !== ip.length) return undefined;
    try {
        return ip.map((text, index) => ({
            ...readAddress(text, length[index] ?? ""),
            gateway: parseIp(gateway[index] ?? ""),
        }));
    } catch {
        return undefined;
    }
}

/** An address and the length of its prefix. Throws when either is none. */
function readAddress(ip: string, length: string): { readonly ip: IpAddress; readonly prefixLength: number } {
    const address = parseIp(ip);
    const prefixLength = /^[0-9]{1,3}$/.test(length) ? Number(length) : Infinity;
    if (prefixLength <= (address.family === 4 ? 32 : 128)) return { ip: address, prefixLength };
    throw new AntreaError("BAD_PREFIX_LENGTH", "peer", `${length} is no prefix length of ${ip}`);
}

function isMac(text: string): boolean {
    try {
        parseMac(text);
        return true;
    } catch {
        return false;
    }
}

const aliasMark = "antrea1";

const maxAliasBytes = 255;

/**
 * The record as link alias, at most 255 bytes (IFALIASZ, linux/if.h): container id 64, UID 36, two addresses with
 * prefix lengths 62, interface 15. Names of Pods do not fit; they are found again by the UID. With a longer container
 * id or UID than Kubernetes' runtimes have, the UID is left out.
 */
export function toAlias(record: PodRecord): string {
    const alias = aliasWith(record, record.podUid);
    return new TextEncoder().encode(alias).length <= maxAliasBytes ? alias : aliasWith(record, "");
}

function aliasWith(record: PodRecord, podUid: string): string {
    const addresses = record.addresses
        .map((address) => `${formatIp(address.ip)}/${address.prefixLength}`)
        .join(separator);
    return [aliasMark, record.containerId, record.ifName, podUid, addresses, record.bootId.slice(0, 8)].join(" ");
}

/** What a link alias tells of an interface. */
export interface AliasRecord {
    readonly containerId: string;
    readonly ifName: string;
    readonly podUid: string;
    readonly addresses: readonly { readonly ip: IpAddress; readonly prefixLength: number }[];
    readonly bootId: string;
}

/** Reads a link alias; undefined when it is not one of ours. */
export function fromAlias(alias: string | undefined): AliasRecord | undefined {
    const [mark, containerId, ifName, podUid, addresses, bootId] = (alias ?? "").split(" ");
    if (mark !== aliasMark || !containerId || !ifName || podUid === undefined || !addresses || bootId === undefined)
        return undefined;
    try {
        return {
            containerId,
            ifName,
            podUid,
            addresses: addresses.split(separator).map((text) => {
                const [ip = "", length = ""] = text.split("/");
                return readAddress(ip, length);
            }),
            bootId,
        };
    } catch {
        return undefined;
    }
}
