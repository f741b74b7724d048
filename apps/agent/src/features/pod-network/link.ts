import { AntreaError } from "@antrea/errors";
import { formatMac } from "@antrea/ip";
import { isNetlinkError, Netlink, NeighbourState, setSysctl, setTxChecksumOffload, type Link } from "@antrea/netlink";
import { isNodeNetns } from "../../platform/host/node-netns.ts";
import { draftMacOf, hostMacOf } from "./names.ts";
import { podLinkGroup } from "../../platform/kernel-ids.ts";
import {
    containerOfAlias,
    pendingAlias,
    type PodRecord,
    releasedAlias,
    toAlias,
} from "../../platform/pod-interfaces/index.ts";

/** How what is in a Pod's network namespace is reached. */
export interface PodNamespaces {
    /** Throws NetlinkError when there is no such namespace, PodLinkError when it is the Node's own. */
    openIn(netns: string): Pick<Netlink, "batch" | "link" | "links" | "neighbours" | "setLink"> & Disposable;
    setSysctl(netns: string, path: string, value: string): void;
    setTxChecksumOffload(ifName: string, isOn: boolean, netns: string): void;
}

export const kernelNamespaces: PodNamespaces = {
    openIn: (netns) => Netlink.openIn(notNodes(netns)),
    setSysctl: (netns, path, value) => setSysctl(notNodes(netns), path, value),
    setTxChecksumOffload: (ifName, isOn, netns) => setTxChecksumOffload(ifName, isOn, notNodes(netns)),
};

export interface PodLinkOptions {
    readonly mtu: number;
    readonly disableTxChecksumOffload: boolean;
    /** Default: the kernel's. */
    readonly namespaces?: PodNamespaces | undefined;
}

export interface PodEndOptions extends PodLinkOptions {
    readonly gatewayMac: () => Uint8Array;
    /** Pods of pools live in the underlay and resolve their router themselves; else the gateway stands for it. */
    readonly bridged: boolean;
}

class PodLinkError extends AntreaError<"LINK_VANISHED" | "NAME_TAKEN" | "NODE_NETNS"> {}

/**
 * A path /proc/PID/ns/net of a record, or of a call under way, leads to the Node's own namespace once the process has
 * ended and one of the Node has its number. There an eth0 is the Node's.
 */
function notNodes(netns: string): string {
    if (!isNodeNetns(netns)) return netns;
    throw new PodLinkError(
        "NODE_NETNS",
        "environment",
        `${netns} is the network namespace of the Node itself; the Pod whose process had this number has ended`,
    );
}

/** A link before its addresses are known. */
export type PodLinkDraft = Pick<PodRecord, "containerId" | "ifName" | "netns" | "hostIfName">;

/**
 * Creates the veth pair of a record in one message; its Pod end is born inside the Pod's namespace. The Pod end of a
 * draft has another MAC address until `configurePodEnd`, the host end keeps its own: it never sends a frame.
 */
export async function createPodLink(
    netlink: Netlink,
    link: PodRecord | PodLinkDraft,
    options: PodLinkOptions,
): Promise<void> {
    const { mtu } = options;
    const [mac, alias] =
        "mac" in link ? [link.mac, toAlias(link)] : [draftMacOf(link.containerId), pendingAlias(link.containerId)];
    const create = (): Promise<void> =>
        netlink.createVeth({
            name: link.hostIfName,
            mac: hostMacOf(mac),
            mtu,
            alias,
            up: true,
            group: podLinkGroup,
            // one queue pair: the kernel would make one a CPU, with files in sysfs for each
            queues: 1,
            peer: { name: link.ifName, mac, mtu, netnsPath: notNodes(link.netns) },
        });
    try {
        await create();
    } catch (error) {
        if (!isNetlinkError(error, "EEXIST")) throw error;
        await removeOwnLeftover(netlink, link);
        await create();
    }
}

/**
 * Whether the other end of a veth is in the namespace at `netns`. An index alone does not say it: each namespace counts its
 * own. To be asked of a link that has just been read, for only that gives the namespace of its other end an id.
 */
export async function isPeerIn(
    netlink: Pick<Netlink, "netnsId">,
    { peerNetnsId }: Pick<Link, "peerNetnsId">,
    netns: string,
): Promise<boolean> {
    return peerNetnsId !== undefined && peerNetnsId === (await netlink.netnsId(netns));
}

/** Throws NetlinkError when the network namespace is gone, PodLinkError when it is the Node's. */
export function checkNamespace(netns: string, { namespaces = kernelNamespaces }: PodLinkOptions): void {
    using _ = namespaces.openIn(netns);
}

/** What of the Pod end can be set up before its addresses are known. */
export function preparePodEnd(link: PodLinkDraft, options: PodLinkOptions): void {
    const { disableTxChecksumOffload, namespaces = kernelNamespaces } = options;
    if (disableTxChecksumOffload) namespaces.setTxChecksumOffload(link.ifName, false, link.netns);
}

/**
 * Writes the record onto the link of a draft, whose addresses are known now. Whatever changes on a host end makes
 * ovs-vswitchd go through all of its ports once, so nothing else is, and it is done when OVS has nothing left to do.
 */
export async function completePodLink(netlink: Netlink, record: PodRecord): Promise<void> {
    const link = await netlink.link(record.hostIfName);
    if (link !== undefined) await netlink.setLink(link.index, { alias: toAlias(record) });
}

/**
 * Sets up the Pod end: addresses, default routes and link-up in one batch, on a socket of the Pod's namespace. What is
 * there already stays.
 */
export async function configurePodEnd(record: PodRecord, options: PodEndOptions): Promise<void> {
    const { namespaces = kernelNamespaces } = options;
    if (record.addresses.some((address) => address.ip.family === 6)) {
        namespaces.setSysctl(record.netns, `net/ipv6/conf/${record.ifName}/disable_ipv6`, "0");
    }
    preparePodEnd(record, options);
    using pod = namespaces.openIn(record.netns);
    const link = await pod.link(record.ifName);
    if (link === undefined) {
        throw new PodLinkError(
            "LINK_VANISHED",
            "environment",
            `interface ${record.ifName} vanished from ${record.netns} while it was set up`,
        );
    }
    await pod.batch((batch) => {
        if (link.mac !== record.mac) batch.setLink(link.index, { mac: record.mac });
        batch.setLink(link.index, { up: true });
        for (const { ip, prefixLength } of record.addresses) {
            batch.replaceAddress({ index: link.index, ip, prefixLength, noDad: true });
        }
        for (const { gateway, pool } of record.addresses) {
            // The router of a pool's subnet is not on the bridge: the gateway stands for it. Of IPv4 the switch says so.
            if (pool !== undefined && gateway.family === 6 && !options.bridged) {
                batch.replaceNeighbour({ index: link.index, ip: gateway, mac: formatMac(options.gatewayMac()) });
            }
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

/**
 * Gives both ends of a running Pod's link the MTU that new links get, and the host end its group. A Pod end that has not
 * the MTU of its host end was set so by somebody else and stays.
 */
export async function adjustPodLink(netlink: Netlink, record: PodRecord, options: PodLinkOptions): Promise<void> {
    const { mtu, namespaces = kernelNamespaces } = options;
    const link = await netlink.link(record.hostIfName);
    if (link === undefined) return;
    if (link.group !== podLinkGroup) await netlink.setLink(link.index, { group: podLinkGroup });
    if (link.mtu === mtu) return;
    using pod = namespaces.openIn(record.netns);
    const podEnd = await pod.link(record.ifName);
    if (podEnd?.mtu === link.mtu) await pod.setLink(podEnd.index, { mtu });
    await netlink.setLink(link.index, { mtu });
}

/**
 * Makes a Pod of a pool find its router after bridging mode was switched on or off: in the underlay its neighbours are
 * themselves, elsewhere the gateway stands for its router.
 */
export async function adjustPodNeighbours(record: PodRecord, options: PodEndOptions): Promise<void> {
    const { namespaces = kernelNamespaces } = options;
    const gatewayMac = formatMac(options.gatewayMac());
    using pod = namespaces.openIn(record.netns);
    const index = (await pod.link(record.ifName))?.index;
    if (index === undefined) return;
    const known = await pod.neighbours(index);
    const routers = record.addresses.map(({ gateway }) => gateway).filter(({ family }) => family === 6);
    await pod.batch((batch) => {
        for (const { ip, mac, state } of known) {
            const isLearned = mac !== undefined && (state & NeighbourState.NOARP) === 0;
            if (isLearned && (mac === gatewayMac) === options.bridged) batch.deleteNeighbour({ index, ip });
        }
        if (options.bridged) return;
        for (const ip of routers) batch.replaceNeighbour({ index, ip, mac: gatewayMac });
    });
}

/**
 * Takes the record off a link that outlives it, and switches it off: nothing may be rebuilt from it any more, and without
 * its port what the Pod sends would reach the Node's own stack, past all flows. Links of others stay alone.
 */
export async function releasePodLink(
    netlink: Netlink,
    record: Pick<PodRecord, "containerId" | "hostIfName">,
): Promise<void> {
    const link = await netlink.link(record.hostIfName);
    if (link !== undefined && containerOfAlias(link.alias) === record.containerId) {
        await netlink.setLink(link.index, { alias: releasedAlias, up: false });
    }
}

/** Deletes the veth pair of a record, released or not. Links of others stay alone. */
export async function deletePodLink(netlink: Netlink, record: PodLinkDraft): Promise<void> {
    const link = await netlink.link(record.hostIfName);
    if (link !== undefined && isOwn(link, record)) await netlink.deleteLink(link.index);
}

function isOwn(link: Link, record: PodLinkDraft): boolean {
    const container = containerOfAlias(link.alias);
    return link.kind === "veth" && (container === "" || container === record.containerId);
}

/**
 * A link of the wanted name stands in the way. If it is what an earlier call for this container left, it goes (both
 * ends of a pair go together); anybody else's is left alone and named.
 */
async function removeOwnLeftover(netlink: Netlink, record: PodLinkDraft): Promise<void> {
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
