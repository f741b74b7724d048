import { formatIp, parseIp, type IpAddress } from "@antrea/ip";
import type { PodAttachment } from "./attachment.ts";
import { packAddresses, unpackAddresses } from "./packed-addresses.ts";
import { isMac, readAddress, readVlan, separator } from "./record-text.ts";

/** One address of an interface of a network other than the Pod network. */
export interface NetworkRecordAddress {
    readonly ip: IpAddress;
    /** Bits of its subnet's prefix. */
    readonly prefixLength: number;
    /** Undefined if it has none. */
    readonly gateway: IpAddress | undefined;
    /**
     * The IPPool from which it is allocated, "" if that is not known after the database was lost; undefined for a static
     * one, which nobody allocates.
     */
    readonly pool: string | undefined;
}

/** A virtual function of a NIC that is the interface of a Pod. */
export interface FunctionDevice extends DeviceId {
    /** The name of its link while the Node has it. */
    readonly linkName: string;
    /** The MTU of its link before the Pod got it, in bytes. */
    readonly linkMtu: number;
}

/** Identifies a device of the Node: by its address on the PCI bus, as 0000:af:06.0, or its name on the auxiliary bus. */
export interface DeviceId {
    readonly bus: "pci" | "auxiliary";
    readonly id: string;
}

/**
 * The record of a Pod's interface on a network other than the Pod network, which this agent makes. It is stored in the
 * external_ids of its OVSDB port; the alias of the host end of the veth pair repeats what is needed if the database is
 * lost. A virtual function has no port: the record of the Pod's interface on the Pod network has its record.
 */
export interface NetworkRecord extends PodAttachment {
    /** `namespace/name` of the network; "" if the database was lost and nothing is left that names it. */
    readonly network: string;
    /** Path of the network namespace, as CNI passed it; "" in a record rebuilt from its link. */
    readonly netns: string;
    /** The host end of the veth pair, which is also the name of the OVS port; "" for a virtual function. */
    readonly hostIfName: string;
    /** The virtual function that is the interface; undefined for a veth pair. */
    readonly device?: FunctionDevice | undefined;
    /** Of the Pod's end, as text like 0a:59:0a:0a:00:01. */
    readonly mac: string;
    /** Empty for a network without IPAM. */
    readonly addresses: readonly NetworkRecordAddress[];
    /** VLAN of the port; 0 is untagged. */
    readonly vlan: number;
    /** In bytes. */
    readonly mtu: number;
    /** Gateways of the interface, at most one of each family, that the Pod's default route leads to. */
    readonly defaultGateways: readonly IpAddress[];
    /** /proc/sys/kernel/random/boot_id at the creation of the interface. */
    readonly bootId: string;
    /** The interface has no traffic, because an address of it belongs to another Pod, or may soon. Default false. */
    readonly isolated?: boolean | undefined;
}

const networkKey = "secondary-network";
/** In the lists of gateways and pools: there is none. */
const none = "-";

/**
 * The record as all external_ids of a Port, for `fromNetworkIds`. Keys that records of the Pod network have too are the
 * same, see `toExternalIds`.
 */
export function toNetworkIds(record: NetworkRecord): Readonly<Record<string, string>> {
    const { addresses } = record;
    const list = (texts: readonly string[]): string => texts.join(separator);
    return {
        "antrea-type": "container",
        [networkKey]: record.network,
        "container-id": record.containerId,
        "if-dev": record.ifName,
        "pod-namespace": record.podNamespace,
        "pod-name": record.podName,
        "pod-uid": record.podUid,
        "net-ns": record.netns,
        "attached-mac": record.mac,
        mtu: String(record.mtu),
        ...(addresses.length === 0
            ? {}
            : {
                  "ip-address": list(addresses.map(({ ip }) => formatIp(ip))),
                  "ip-prefix-length": list(addresses.map(({ prefixLength }) => String(prefixLength))),
                  "ip-gateway": list(
                      addresses.map(({ gateway }) => (gateway === undefined ? none : formatIp(gateway))),
                  ),
                  "ip-pool": list(addresses.map(({ pool }) => pool ?? none)),
              }),
        ...(record.vlan === 0 ? {} : { vlan: String(record.vlan) }),
        ...(record.defaultGateways.length === 0 ? {} : { "default-route": list(record.defaultGateways.map(formatIp)) }),
        "boot-id": record.bootId,
        ...(record.isolated === true ? { isolated: "true" } : {}),
        ...(record.device === undefined ? {} : toDeviceIds(record.device)),
    };
}

function toDeviceIds({ bus, id, linkName, linkMtu }: FunctionDevice): Readonly<Record<string, string>> {
    return { "device-bus": bus, device: id, "device-link": linkName, "device-mtu": String(linkMtu) };
}

/** Undefined if the record has no device, or not all of it. */
function readDevice(ids: ReadonlyMap<string, string>): FunctionDevice | undefined {
    const [bus, id, linkName] = [ids.get("device-bus"), ids.get("device"), ids.get("device-link")];
    const linkMtu = readMtu(ids.get("device-mtu"));
    if ((bus !== "pci" && bus !== "auxiliary") || !id || !linkName || linkMtu === undefined) return undefined;
    return { bus, id, linkName, linkMtu };
}

/**
 * Decodes a record from the external_ids of the Port `hostIfName`. Undefined if the port is not that of such an
 * interface; "unfinished" if it lacks container ID or MAC, or something in it is invalid: no ADD has returned it.
 */
export function fromNetworkIds(
    hostIfName: string,
    ids: ReadonlyMap<string, string>,
): NetworkRecord | "unfinished" | undefined {
    const network = ids.get(networkKey);
    if (ids.get("antrea-type") !== "container" || network === undefined) return undefined;
    const containerId = ids.get("container-id") ?? "";
    const ifName = ids.get("if-dev") ?? "";
    const mac = ids.get("attached-mac") ?? "";
    const addresses = readAddresses(ids);
    const defaultGateways = readGateways(ids.get("default-route"));
    const device = readDevice(ids);
    const [mtu, vlan] = [readMtu(ids.get("mtu")), readOwnVlan(ids.get("vlan") ?? "0")];
    if (containerId === "" || ifName === "" || !isMac(mac) || mtu === undefined || vlan === undefined)
        return "unfinished";
    if (addresses === undefined || defaultGateways === undefined) return "unfinished";
    return {
        containerId,
        ifName,
        podNamespace: ids.get("pod-namespace") ?? "",
        podName: ids.get("pod-name") ?? "",
        podUid: ids.get("pod-uid") ?? "",
        network,
        netns: ids.get("net-ns") ?? "",
        hostIfName,
        mac,
        addresses,
        vlan,
        mtu,
        defaultGateways,
        bootId: ids.get("boot-id") ?? "",
        ...(ids.get("isolated") === "true" ? { isolated: true } : {}),
        ...(device === undefined ? {} : { device }),
    };
}

function readAddresses(ids: ReadonlyMap<string, string>): readonly NetworkRecordAddress[] | undefined {
    const text = ids.get("ip-address");
    if (text === undefined) return [];
    const [lengths, gateways, pools] = ["ip-prefix-length", "ip-gateway", "ip-pool"].map((key) =>
        ids.get(key)?.split(separator),
    );
    const ips = text.split(separator);
    if ([lengths, gateways, pools].some((list) => list?.length !== ips.length)) return undefined;
    try {
        return ips.map((ip, index) => {
            const gateway = gateways?.[index] ?? none;
            const pool = pools?.[index] ?? none;
            return {
                ...readAddress(ip, lengths?.[index] ?? ""),
                gateway: gateway === none ? undefined : parseIp(gateway),
                pool: pool === none ? undefined : pool,
            };
        });
    } catch {
        return undefined;
    }
}

function readGateways(text: string | undefined): readonly IpAddress[] | undefined {
    try {
        const gateways = text === undefined ? [] : text.split(separator).map((one) => parseIp(one));
        return new Set(gateways.map(({ family }) => family)).size === gateways.length ? gateways : undefined;
    } catch {
        return undefined;
    }
}

/** Undefined for a text that is no VLAN: the interface must not get into another one, nor into none. */
function readOwnVlan(text: string): number | undefined {
    const vlan = readVlan(text);
    return String(vlan) === text ? vlan : undefined;
}

function readMtu(text: string | undefined): number | undefined {
    return text !== undefined && /^[1-9]\d{1,4}$/.test(text) ? Number(text) : undefined;
}

/** Prefix and format of the aliases. */
export const networkAliasMark = "antrea3";
const isolatedMark = "iso";
const maxAliasBytes = 255;

/**
 * Encodes the record as link alias for `fromNetworkAlias`, words separated by spaces, at most 255 bytes (IFALIASZ,
 * linux/if.h): container ID 96, interface 15, UID 36, MAC 17, VLAN, MTU, half of the boot ID, a mark, the gateways of default
 * routes, and the addresses of IPPools, see `packAddresses`. What must not get a second owner comes first: without room the
 * UID is left out, then the gateways, then addresses from the last on. With a container ID of 64 bytes there is room for 18
 * addresses of IPv4 or 5 of IPv6. Static addresses, which nobody allocates, are not in it.
 */
export function toNetworkAlias(record: NetworkRecord): string {
    const { containerId, ifName, podUid, mac, vlan, mtu, bootId, isolated } = record;
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
        [uid, gateways],
        [none, gateways],
        [uid, none],
    ] as const;
    for (const [text, vias] of candidates) {
        const alias = words(text, [mark, vias, all]);
        if (fits(alias)) return alias;
    }
    for (let count = ofPools.length; count >= 0; count -= 1) {
        const alias = words(none, [mark, none, first(count)]);
        if (fits(alias)) return alias;
    }
    return words(none, []);
}

function fits(alias: string): boolean {
    return Buffer.byteLength(alias) <= maxAliasBytes;
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
>;

/** Decodes a link alias; undefined if it is not of such an interface, or invalid. The boot ID is cut to 8 characters. */
export function fromNetworkAlias(alias: string | undefined): NetworkAlias | undefined {
    const [mark, containerId, ifName, podUid, mac, vlan, mtu, bootId, ...more] = (alias ?? "").split(" ");
    const [isolated, gateways, packed = none] = more;
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
    };
}
