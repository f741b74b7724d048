import type { Link, Netlink } from "@antrea/netlink";
import type { JournalEntry } from "./journal-codec.ts";
import { isMadeByOvs } from "./links.ts";
import { isPhysicalNameOf, nicNameOf } from "./names.ts";
import { readNicSettings, type NicSettings } from "./nic-settings.ts";
import { hasGlobalAddress, takeSnapshot } from "./snapshot.ts";
import { readSysctl, writeSysctl } from "./sysctls.ts";
import type { Rollback } from "./rollback.ts";
import type { BootContext } from "./boot-context.ts";

/** ARPHRD_ETHER. */
const ethernet = 1;

/**
 * What a lost journal must have said, of each NIC that the links say was moved: one named "eth0~" while OVS has made an
 * eth0, or one of such a name without addresses that shows what is done to a NIC that is a port.
 */
async function entriesOfLinks(
    netlink: Netlink,
    here: BootContext,
    uptimeSeconds: number,
): Promise<readonly JournalEntry[]> {
    const links = await netlink.links();
    const hosts = links.filter(isMadeByOvs);
    const entries = new Map<string, JournalEntry>();
    // The last of "eth0~", "eth0~1" is ours: it has its digit because somebody had the other name.
    links.sort((one, other) => (one.name < other.name ? -1 : 1));
    for (const nic of links) {
        const bareName = nicNameOf(nic.name);
        if (bareName === undefined || isMadeByOvs(nic) || nic.type !== ethernet) continue;
        const host = hosts.find(({ name }) => isPhysicalNameOf(name, nic.name));
        const isAlone = host === undefined;
        if (isAlone && links.some(({ name }) => name === bareName)) continue;
        if (isAlone && !(await looksMoved(netlink, nic, links))) continue;
        const name = host?.name ?? bareName;
        entries.set(name, {
            step: "bridged",
            ...here,
            name,
            physicalName: nic.name,
            nic: settingsOf(nic, host),
            saved: await takeSnapshot(netlink, host ?? nic, uptimeSeconds),
            ...(host !== undefined && { hostIndex: host.index }),
        });
    }
    return [...entries.values()];
}

/** Undoes the moves that only the links tell of; gives the names of the NICs. */
export async function bringBackByLinks(
    parts: { readonly netlink: Netlink; readonly rollback: Rollback; readonly uptimeSeconds: () => number },
    here: BootContext,
    begin: (entry: JournalEntry) => void,
): Promise<readonly string[]> {
    const entries = await entriesOfLinks(parts.netlink, here, parts.uptimeSeconds());
    for (const entry of entries) {
        begin(entry);
        await parts.rollback.run(entry, here);
        // Its addresses went with the host port: it is ready for whoever gives it new ones, the kernel among them.
        if (entry.hostIndex === undefined) {
            writeSysctl("ipv6", entry.name, "disable_ipv6", readSysctl("ipv6", "default", "disable_ipv6") ?? "0");
        }
    }
    return entries.map(({ name }) => name);
}

/** A port has no addresses, and its own part of the Node's stack is off. */
async function looksMoved(netlink: Netlink, nic: Link, links: readonly Link[]): Promise<boolean> {
    const master = links.find(({ index }) => index === nic.master);
    const isPort = master !== undefined && isMadeByOvs(master);
    const isOff = readSysctl("ipv6", nic.name, "disable_ipv6") === "1";
    if (!isPort && !isOff && nic.group === 0) return false;
    return !hasGlobalAddress(await netlink.addresses(nic.index));
}

/** What an untouched NIC usually has where the host port, if there is one, says nothing of it. */
function settingsOf(nic: Link, host: Link | undefined): NicSettings {
    const common = { index: nic.index, group: 0, promiscuous: false };
    if (host !== undefined) return { ...readNicSettings(host), ...common };
    const { mac, mtu } = nic;
    return { ...common, mac, mtu, up: true, txChecksumOffload: true, receiveMerging: true };
}
