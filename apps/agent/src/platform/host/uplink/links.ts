import { sleep } from "@antrea/async";
import { isNetlinkError, type Link, type Netlink } from "@antrea/netlink";
import { UplinkError } from "./errors.ts";
import type { MovedAddress } from "./snapshot.ts";
import { placeAddresses } from "./place-addresses.ts";
import { readSysctl, writeSysctl } from "./sysctls.ts";
import type { NicSettings } from "./nic-settings.ts";

const pollMs = 5;

/** The two links of an uplink, as far as they exist. */
export interface Places {
    /** Undefined if it does not exist, as after its driver was removed. */
    readonly nic?: Link;
    /** The device that OVS created with the name of the NIC. */
    readonly host?: Link;
}

/**
 * Whether OVS created the link for an internal port: a tap device on the userspace datapath, an openvswitch link on the
 * kernel datapath.
 */
export function isMadeByOvs({ kind }: Pick<Link, "kind">): boolean {
    return kind === "tun" || kind === "openvswitch";
}

/** The uplink's names and the identity of the NIC according to a journal; a JournalEntry fits. */
export interface KnownNames {
    readonly name: string;
    /** The NIC's name while it is moved. */
    readonly physicalName: string;
    readonly nic: Pick<Link, "index" | "mac">;
}

/**
 * Finds the links themselves, since a journal may be outdated. The NIC is identified by its ifindex, or by its MAC
 * address if its driver was reloaded; another NIC that has its name now does not match. Rejects with NetlinkError.
 */
export async function findPlaces(netlink: Netlink, known: KnownNames): Promise<Places> {
    const [named, physical] = await Promise.all([
        linkNamed(netlink, known.name),
        linkNamed(netlink, known.physicalName),
    ]);
    const host = named !== undefined && isMadeByOvs(named) ? named : undefined;
    const candidates = [physical, named].filter((link) => link !== undefined && !isMadeByOvs(link));
    const nic =
        candidates.find((link) => link?.index === known.nic.index) ??
        candidates.find((link) => link?.mac === known.nic.mac);
    return { ...(nic !== undefined && { nic }), ...(host !== undefined && { host }) };
}

/** Finds a link by its name, not by an alternative name; undefined if there is none. Rejects with NetlinkError. */
export async function linkNamed(netlink: Netlink, name: string): Promise<Link | undefined> {
    const link = await netlink.link(name);
    return link?.name === name ? link : undefined;
}

/**
 * Waits until OVS has created a device with this MAC address and MTU (bytes); rejects with UplinkError `NO_DEVICE`
 * after `timeoutMs` milliseconds, or if the signal aborts.
 */
export async function hostDevice(
    netlink: Netlink,
    { name, mac, mtu }: { readonly name: string; readonly mac: string; readonly mtu: number },
    timeoutMs: number,
    signal?: AbortSignal,
): Promise<Link> {
    const deadline = performance.now() + timeoutMs;
    for (;;) {
        const link = await linkNamed(netlink, name);
        if (link !== undefined && isMadeByOvs(link) && link.mac === mac && link.mtu === mtu) return link;
        if (performance.now() > deadline) {
            const seen = link === undefined ? "there is none" : `it has MAC ${link.mac}, MTU ${link.mtu}`;
            throw new UplinkError(
                "NO_DEVICE",
                "environment",
                `OVS did not make the device ${name} with MAC ${mac} and MTU ${mtu}, ${seen}; see the log of ovs-vswitchd`,
            );
        }
        await sleep(pollMs, signal);
    }
}

/**
 * Polls until the condition is true, at least once; false if it is not within `timeoutMs` milliseconds. Rejects as the
 * condition does, or if the signal aborts.
 */
export async function comesTrue(
    what: () => Promise<boolean>,
    timeoutMs: number,
    signal?: AbortSignal,
): Promise<boolean> {
    const deadline = performance.now() + timeoutMs;
    while (!(await what())) {
        if (performance.now() > deadline) return false;
        await sleep(pollMs, signal);
    }
    return true;
}

/**
 * Renames a link. A kernel before 6.2 cannot rename a link that is up: it is then set down briefly and loses its IPv6
 * addresses and its routes. Returns true if so: the caller restores them and then calls `endIpv6`. Rejects with
 * NetlinkError.
 */
export async function renameLink(netlink: Netlink, link: Link, name: string, saved: NicSettings): Promise<boolean> {
    try {
        await netlink.setLink(link.index, { name });
        return false;
    } catch (error) {
        if (!isNetlinkError(error, "EBUSY")) throw error;
    }
    beginIpv6(link.name, saved);
    await netlink.batch((batch) =>
        batch.setLink(link.index, { up: false }).setLink(link.index, { name }).setLink(link.index, { up: link.up }),
    );
    return true;
}

/**
 * Enables or disables IPv6 as saved, but without a kernel-generated link-local address, which would be tentative for a
 * second; the caller then places the addresses and calls `endIpv6`. No effect without IPv6; throws NetlinkError.
 */
export function beginIpv6(name: string, saved: NicSettings): void {
    if (saved.ipv6Disabled === undefined) return;
    writeSysctl("ipv6", name, "addr_gen_mode", "1");
    if (readSysctl("ipv6", name, "disable_ipv6") !== saved.ipv6Disabled) {
        writeSysctl("ipv6", name, "disable_ipv6", saved.ipv6Disabled);
    }
}

/**
 * Restores the address generation mode once the saved addresses are present. The kernel then generates its link-local
 * address unless it is among them; one that was not there before is removed. No effect without IPv6; rejects with
 * NetlinkError.
 */
export async function endIpv6(
    netlink: Netlink,
    link: Pick<Link, "name" | "index">,
    saved: NicSettings,
    addresses: readonly MovedAddress[],
): Promise<void> {
    if (saved.addrGenMode === undefined) return;
    writeSysctl("ipv6", link.name, "addr_gen_mode", saved.addrGenMode);
    await placeAddresses(netlink, link.index, addresses);
}

/**
 * Assigns the alternative names to a link, in order; ignored if the kernel does not support them or another link gets
 * one meanwhile. Rejects with NetlinkError.
 *
 * @param from ifindex of another link that may have the names, from which they are removed
 */
export async function placeAltNames(
    netlink: Netlink,
    index: number,
    wanted: readonly string[],
    from?: number,
): Promise<void> {
    const present = (await netlink.link(index))?.altNames ?? [];
    if (wanted.every((name, at) => present[at] === name)) return;
    await netlink
        .batch((batch) => {
            for (const name of wanted) {
                if (from !== undefined) batch.deleteAltName(from, name);
                if (present.includes(name)) batch.deleteAltName(index, name);
            }
            for (const name of wanted) batch.addAltName(index, name);
        })
        .catch((error: unknown) => {
            // Assigned to another link meanwhile; kernels before 5.5 do not support alternative names.
            if (!isNetlinkError(error, "EEXIST", "EOPNOTSUPP")) throw error;
        });
}
