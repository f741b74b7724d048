import {
    isNetlinkError,
    receiveMerging,
    setReceiveMerging,
    setTxChecksumOffload,
    txChecksumOffload,
    type Link,
    type Netlink,
} from "@antrea/netlink";
import { readSysctl } from "./sysctls.ts";

/**
 * The original values of the NIC settings that are changed while it is an OVS port: attributes of the link
 * (rtnetlink(7)), offloads (ethtool), sysctls as text.
 */
export interface NicSettings {
    /** ifindex. */
    readonly index: number;
    /** As text. */
    readonly mac: string;
    /** In bytes. */
    readonly mtu: number;
    /** IFLA_GROUP; 0 is the kernel's default. */
    readonly group: number;
    readonly up: boolean;
    readonly promiscuous: boolean;
    readonly txChecksumOffload: boolean;
    /** Generic receive offload. */
    readonly receiveMerging: boolean;
    /** Sysctl disable_ipv6; absent without IPv6. */
    readonly ipv6Disabled?: string;
    /** Sysctl addr_gen_mode; absent without IPv6. */
    readonly addrGenMode?: string;
}

/**
 * Reads the settings of a link, from netlink, ethtool and sysctl; an offload that cannot be read counts as off. Throws
 * NetlinkError.
 */
export function readNicSettings(link: Link): NicSettings {
    const { index, name, mac, mtu, group, up, promiscuous } = link;
    const ipv6Disabled = readSysctl("ipv6", name, "disable_ipv6");
    const addrGenMode = readSysctl("ipv6", name, "addr_gen_mode");
    return {
        index,
        mac,
        mtu,
        group,
        up,
        promiscuous,
        txChecksumOffload: offload(() => txChecksumOffload(name), false),
        receiveMerging: offload(() => receiveMerging(name), false),
        ...(ipv6Disabled !== undefined && { ipv6Disabled }),
        ...(addrGenMode !== undefined && { addrGenMode }),
    };
}

/**
 * Disables transmit checksum offload and generic receive offload of a link: the datapath does not complete checksums,
 * and accepts no frame larger than the MTU. No effect on offloads that the link does not support; throws NetlinkError.
 */
export function switchOffloadsOff(name: string): void {
    offload(() => setTxChecksumOffload(name, false), undefined);
    offload(() => setReceiveMerging(name, false), undefined);
}

/**
 * Restores offloads, link group and whether the NIC is up: not its name, addresses, IPv6 settings and promiscuous mode.
 * Rejects with NetlinkError.
 */
export async function restoreNicSettings(netlink: Netlink, link: Link, saved: NicSettings): Promise<void> {
    const { name, index } = link;
    if (saved.txChecksumOffload && !offload(() => txChecksumOffload(name), true)) {
        offload(() => setTxChecksumOffload(name, true), undefined);
    }
    if (saved.receiveMerging) offload(() => setReceiveMerging(name, true), undefined);
    await netlink.setLink(index, { up: saved.up, group: saved.group });
}

/**
 * Restores the promiscuous flag: ovs-vswitchd sets it on its ports, and cannot reset it after it was killed. To be
 * called when OVS has released the NIC. Rejects with NetlinkError.
 */
export async function restorePromiscuous(netlink: Netlink, index: number, saved: NicSettings): Promise<void> {
    await netlink.setLink(index, { promiscuous: saved.promiscuous });
}

/** If offloads of a link cannot be read or changed, they are treated as irrelevant. */
function offload<T>(work: () => T, otherwise: T): T {
    try {
        return work();
    } catch (error) {
        if (isNetlinkError(error, "EOPNOTSUPP", "EINVAL")) return otherwise;
        throw error;
    }
}
