import type { Link, Netlink } from "@antrea/netlink";
import type { JournalEntry } from "./journal-codec.ts";
import { isMadeByOvs } from "./links.ts";
import { isPhysicalNameOf, nicNameOf } from "./names.ts";
import { readNicSettings, type NicSettings } from "./nic-settings.ts";
import { hasGlobalAddress, takeSnapshot } from "./snapshot.ts";
import { readSysctl, writeSysctl } from "./sysctls.ts";
import type { Rollback } from "./rollback.ts";
import type { BootContext } from "./boot-context.ts";
import type { UplinkOptions } from "./types.ts";

/** ARPHRD_ETHER. */
const ethernet = 1;

/**
 * Reconstructs the entries of a lost journal from the links, one for each NIC that appears moved: one named "eth0~"
 * while OVS has an eth0, or one of such a name without addresses that has the settings of an OVS port.
 */
async function entriesOfLinks(
    netlink: Netlink,
    here: BootContext,
    uptimeSeconds: number,
): Promise<readonly JournalEntry[]> {
    const links = await netlink.links();
    const hosts = links.filter(isMadeByOvs);
    const entries = new Map<string, JournalEntry>();
    // Of "eth0~" and "eth0~1" the last is ours: it has its digit because the other name was in use.
    links.sort((one, other) => (one.name < other.name ? -1 : 1));
    for (const nic of links) {
        const bareName = nicNameOf(nic.name);
        if (bareName === undefined || isMadeByOvs(nic) || nic.type !== ethernet) continue;
        const host = hosts.find(({ name }) => isPhysicalNameOf(name, nic.name));
        const isAlone = host === undefined;
        if (isAlone && links.some(({ name }) => name === bareName)) continue;
        if (isAlone && !(await isMoved(netlink, nic, links))) continue;
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

/**
 * Rolls back moves whose journal is lost, recognized by the names and settings of the links (an "eth0~" and the device
 * of a host port eth0, or alone with the settings of a port), calling `begin` before each; returns the original names
 * of the NICs, none if nothing was moved. Rejects with NetlinkError, or as Rollback's `run`.
 *
 * @param isOwn which of them are rolled back; see UplinkOptions
 */
export async function bringBackByLinks(
    parts: { readonly netlink: Netlink; readonly rollback: Rollback; readonly uptimeSeconds: () => number },
    here: BootContext,
    begin: (entry: JournalEntry) => void,
    isOwn: NonNullable<UplinkOptions["isOwn"]> = () => true,
): Promise<readonly string[]> {
    const entries = (await entriesOfLinks(parts.netlink, here, parts.uptimeSeconds())).filter(isOwn);
    for (const entry of entries) {
        begin(entry);
        await parts.rollback.run(entry, here);
        // Its addresses were lost with the host port: it is ready to be configured, by the kernel or another program.
        if (entry.hostIndex === undefined) {
            writeSysctl("ipv6", entry.name, "disable_ipv6", readSysctl("ipv6", "default", "disable_ipv6") ?? "0");
        }
    }
    return entries.map(({ name }) => name);
}

/** Whether the NIC has the settings of a port: no addresses, and its own IPv4 and IPv6 configuration disabled. */
async function isMoved(netlink: Netlink, nic: Link, links: readonly Link[]): Promise<boolean> {
    const master = links.find(({ index }) => index === nic.master);
    const isPort = master !== undefined && isMadeByOvs(master);
    const isOff = readSysctl("ipv6", nic.name, "disable_ipv6") === "1";
    if (!isPort && !isOff && nic.group === 0) return false;
    return !hasGlobalAddress(await netlink.addresses(nic.index));
}

/** The defaults of a NIC, where the host port (if any) does not provide the value. */
function settingsOf(nic: Link, host: Link | undefined): NicSettings {
    const common = { index: nic.index, group: 0, promiscuous: false };
    if (host !== undefined) return { ...readNicSettings(host), ...common };
    const { mac, mtu } = nic;
    return { ...common, mac, mtu, up: true, txChecksumOffload: true, receiveMerging: true };
}
