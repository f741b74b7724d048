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

/** What is changed of the NIC itself while it is an OVS port, as it was before. */
export interface NicSettings {
    readonly index: number;
    readonly mac: string;
    readonly mtu: number;
    readonly group: number;
    readonly up: boolean;
    readonly promiscuous: boolean;
    readonly txChecksumOffload: boolean;
    readonly receiveMerging: boolean;
    /** Sysctl disable_ipv6; not there without IPv6. */
    readonly ipv6Disabled?: string;
    readonly addrGenMode?: string;
}

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

/** Frames leave by a datapath that finishes none, and come in by one that takes none larger than the MTU. */
export function switchOffloadsOff(name: string): void {
    offload(() => setTxChecksumOffload(name, false), undefined);
    offload(() => setReceiveMerging(name, false), undefined);
}

/** The NIC as it was, but for its name, its addresses and IPv6. */
export async function restoreNicSettings(netlink: Netlink, link: Link, saved: NicSettings): Promise<void> {
    const { name, index } = link;
    if (saved.txChecksumOffload && !offload(() => txChecksumOffload(name), true)) {
        offload(() => setTxChecksumOffload(name, true), undefined);
    }
    if (saved.receiveMerging) offload(() => setReceiveMerging(name, true), undefined);
    await netlink.setLink(index, { up: saved.up, group: saved.group });
}

/** ovs-vswitchd sets this flag on its ports, and cannot take it back when it was killed. */
export async function restorePromiscuous(netlink: Netlink, index: number, saved: NicSettings): Promise<void> {
    await netlink.setLink(index, { promiscuous: saved.promiscuous });
}

/** A link whose offloads cannot be read or changed has none that matter. */
function offload<T>(work: () => T, otherwise: T): T {
    try {
        return work();
    } catch (error) {
        if (isNetlinkError(error, "EOPNOTSUPP", "EINVAL")) return otherwise;
        throw error;
    }
}
