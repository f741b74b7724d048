import { sleep } from "@antrea/async";
import { isNetlinkError, type Link, type Netlink } from "@antrea/netlink";
import { UplinkError } from "./errors.ts";
import type { MovedAddress } from "./snapshot.ts";
import { placeAddresses } from "./place.ts";
import { readSysctl, writeSysctl } from "./sysctls.ts";
import type { NicSettings } from "./nic-settings.ts";

const lookMs = 5;

/** The two links of an uplink, as far as they are there. */
export interface Places {
    readonly nic?: Link;
    /** The device that OVS made in the name of the NIC. */
    readonly host?: Link;
}

/** A link that OVS makes for an internal port: a tap device on the userspace datapath, one of its own in the kernel. */
export function isMadeByOvs({ kind }: Pick<Link, "kind">): boolean {
    return kind === "tun" || kind === "openvswitch";
}

/** What a journal says of the uplink's links. */
export interface KnownNames {
    readonly name: string;
    readonly physicalName: string;
    readonly nic: Pick<Link, "index" | "mac">;
}

/**
 * Looks at the links themselves: a journal may be older than they are. The NIC is known by its index, and by its MAC
 * address when its driver was loaded anew; another NIC that has its name by now is none of the journal's.
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

/** By its name, not by an alternative one. */
export async function linkNamed(netlink: Netlink, name: string): Promise<Link | undefined> {
    const link = await netlink.link(name);
    return link?.name === name ? link : undefined;
}

/** Waits until OVS has made a device as it was told to. */
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
        await sleep(lookMs, signal);
    }
}

/** Waits until something is so; false when it is not in time. */
export async function comesTrue(
    what: () => Promise<boolean>,
    timeoutMs: number,
    signal?: AbortSignal,
): Promise<boolean> {
    const deadline = performance.now() + timeoutMs;
    while (!(await what())) {
        if (performance.now() > deadline) return false;
        await sleep(lookMs, signal);
    }
    return true;
}

/**
 * Renames a link. A kernel before 6.2 renames none that is up: then it goes down for the moment, and its IPv6 addresses
 * and its routes with it. True if so: the caller puts them back, then calls `endIpv6`.
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

/** IPv6 on as it was, but without a link-local address that the kernel makes: it would be tentative for a second. */
export function beginIpv6(name: string, saved: NicSettings): void {
    if (saved.ipv6Disabled === undefined) return;
    writeSysctl("ipv6", name, "addr_gen_mode", "1");
    if (readSysctl("ipv6", name, "disable_ipv6") !== saved.ipv6Disabled) {
        writeSysctl("ipv6", name, "disable_ipv6", saved.ipv6Disabled);
    }
}

/**
 * The way the kernel makes addresses as it was, once those that were saved are there. It makes its link-local address
 * now unless that is among them; one that was not there before goes again.
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

/** Gives a link these alternative names, in this order, and takes them from another one that may have them. */
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
            // Somebody else's by now; a kernel before 5.5 knows none.
            if (!isNetlinkError(error, "EEXIST", "EOPNOTSUPP")) throw error;
        });
}
