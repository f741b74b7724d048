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

/** The original values of the NIC settings that are changed while it is an OVS port. */
export interface NicSettings {
    readonly index: number;
    readonly mac: string;
    readonly mtu: number;
    readonly group: number;
    readonly up: boolean;
    readonly promiscuous: boolean;
    readonly txChecksumOffload: boolean;
    readonly receiveMerging: boolean;
    /** Sysctl disable_ipv6; absent without IPv6. */
    readonly ipv6Disabled?: string;
    readonly addrGenMode?: string;
}

/** Reads the settings of a link, from netlink, ethtool and sysctl. */
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
 * Disables transmit checksum offload and receive merging: the datapath does not complete checksums, and accepts no
 * frame larger than the MTU.
 */
export function switchOffloadsOff(name: string): void {
    offload(() => setTxChecksumOffload(name, false), undefined);
    offload(() => setReceiveMerging(name, false), undefined);
}

/** Restores the NIC, except its name, addresses and IPv6. */
export async function restoreNicSettings(netlink: Netlink, link: Link, saved: NicSettings): Promise<void> {
    const { name, index } = link;
    if (saved.txChecksumOffload && !offload(() => txChecksumOffload(name), true)) {
        offload(() => setTxChecksumOffload(name, true), undefined);
    }
    if (saved.receiveMerging) offload(() => setReceiveMerging(name, true), undefined);
    await netlink.setLink(index, { up: saved.up, group: saved.group });
}

/** ovs-vswitchd sets this flag on its ports, and cannot reset it after it was killed. */
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
