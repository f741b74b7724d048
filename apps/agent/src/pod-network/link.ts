import { AntreaError } from "@antrea/errors";
import { isNetlinkError, Netlink, setSysctl, setTxChecksumOffload, type Link } from "@antrea/netlink";
import { hostMacOf } from "./names.ts";
import { fromAlias, toAlias, type PodRecord } from "./record.ts";

export interface PodLinkOptions {
    readonly mtu: number;
    readonly disableTxChecksumOffload: boolean;
}

export class PodLinkError extends AntreaError<"LINK_VANISHED" | "NAME_TAKEN"> {}

/** Creates the veth pair of a record in one message; its Pod end is born inside the Pod's namespace. */
export async function createPodLink(netlink: Netlink, record: PodRecord, options: PodLinkOptions): Promise<void> {
    const create = (): Promise<void> =>
        netlink.createVeth({
            name: record.hostIfName,
            mac: hostMacOf(record.mac),
            mtu: options.mtu,
            alias: toAlias(record),
            up: true,
            // one queue pair: the kernel would make one a CPU, with files in sysfs for each
            queues: 1,
            peer: { name: record.ifName, mac: record.mac, mtu: options.mtu, netnsPath: record.netns },
        });
    try {
        await create();
    } catch (error) {
        if (!isNetlinkError(error, "EEXIST")) throw error;
        await removeOwnLeftover(netlink, record);
        await create();
    }
}

/**
 * Sets up the Pod end: addresses, default routes and link-up in one batch, on a socket of the Pod's namespace. What is
 * there already stays.
 */
export async function configurePodEnd(record: PodRecord, options: PodLinkOptions): Promise<void> {
    if (record.addresses.some((address) => address.ip.family === 6)) {
        setSysctl(record.netns, `net/ipv6/conf/${record.ifName}/disable_ipv6`, "0");
    }
    if (options.disableTxChecksumOffload) setTxChecksumOffload(record.ifName, false, record.netns);
    using pod = Netlink.openIn(record.netns);
    const link = await pod.link(record.ifName);
    if (link === undefined) {
        throw new PodLinkError(
            "LINK_VANISHED",
            "environment",
            `interface ${record.ifName} vanished from ${record.netns} while it was set up`,
        );
    }
    await pod.batch((batch) => {
        batch.setLink(link.index, { up: true });
        for (const { ip, prefixLength } of record.addresses) {
            batch.replaceAddress({ index: link.index, ip, prefixLength, noDad: true });
        }
        for (const { gateway } of record.addresses) {
            batch.replaceRoute({ dst: "default", family: gateway.family, via: gateway, dev: link.index });
        }
    });
}

/**
 * Switches the host end on if it is off. When a link goes and another one of its name comes at once, ovs-vswitchd may
 * take the flags it knew of the first for those of the second, and switch it off with them as it opens it.
 */
export async function raisePodLink(netlink: Netlink, record: PodRecord): Promise<void> {
    const link = await netlink.link(record.hostIfName);
    if (link?.up === false) await netlink.setLink(link.index, { up: true });
}

/** Takes the record off a link that outlives it: nothing may be rebuilt from it any more. Links of others stay alone. */
export async function releasePodLink(netlink: Netlink, record: PodRecord): Promise<void> {
    const link = await netlink.link(record.hostIfName);
    if (link !== undefined && fromAlias(link.alias)?.containerId === record.containerId) {
        await netlink.setLink(link.index, { alias: releasedAlias });
    }
}

/** Deletes the veth pair of a record, released or not. Links of others stay alone. */
export async function deletePodLink(netlink: Netlink, record: PodRecord): Promise<void> {
    const link = await netlink.link(record.hostIfName);
    if (link !== undefined && isOwn(link, record)) await netlink.deleteLink(link.index);
}

function isOwn(link: Link, record: PodRecord): boolean {
    const ours = link.alias === releasedAlias || fromAlias(link.alias)?.containerId === record.containerId;
    return link.kind === "veth" && ours;
}

/** The alias of a host end whose record is gone; the sweep deletes such links. */
export const releasedAlias = "antrea1 released";

/**
 * A link of the wanted name stands in the way. If it is what an earlier call for this container left, it goes (both
 * ends of a pair go together); anybody else's is left alone and named.
 */
async function removeOwnLeftover(netlink: Netlink, record: PodRecord): Promise<void> {
    const host = await netlink.link(record.hostIfName);
    if (host === undefined) {
        throw new PodLinkError(
            "NAME_TAKEN",
            "environment",
            `network namespace ${record.netns} has an interface ${record.ifName} already; another CNI plugin may have set it up`,
        );
    }
    if (isOwn(host, record)) {
        await netlink.deleteLink(host.index);
        return;
    }
    throw new PodLinkError(
        "NAME_TAKEN",
        "environment",
        `a link named ${record.hostIfName} that does not belong to container ${record.containerId} is on this Node already`,
    );
}
