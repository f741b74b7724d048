import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { AntreaError, isSystemError } from "@antrea/errors";
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

/** Access to the network namespaces of Pods. */
export interface PodNamespaces {
    /** Throws NetlinkError if there is no such namespace, PodLinkError if it is the Node's own. */
    openIn(netns: string): Pick<Netlink, "batch" | "link" | "links" | "neighbours" | "routes" | "setLink"> & Disposable;
    /** Sets a sysctl of the namespace by its path below /proc/sys; throws as `openIn`. */
    setSysctl(netns: string, path: string, value: string): void;
    /** Sets transmit checksum offload of an interface in the namespace; throws as `openIn`. */
    setTxChecksumOffload(ifName: string, isOn: boolean, netns: string): void;
    /** The paths of the namespaces that container runtimes keep by name; none of those that a process alone has. */
    paths(): Promise<readonly string[]>;
}

/** The folder of ip-netns(8), which containerd and CRI-O use too. */
const netnsFolder = "/var/run/netns";

/** Opens the namespaces of the kernel; throws PodLinkError `NODE_NETNS` for the Node's own. */
export const kernelNamespaces: PodNamespaces = {
    openIn: (netns) => Netlink.openIn(notNodes(netns)),
    setSysctl: (netns, path, value) => setSysctl(notNodes(netns), path, value),
    setTxChecksumOffload: (ifName, isOn, netns) => setTxChecksumOffload(ifName, isOn, notNodes(netns)),
    paths: async () => (await namesIn(netnsFolder)).map((name) => join(netnsFolder, name)),
};

/** The files of a folder; none if there is no such folder. */
async function namesIn(folder: string): Promise<readonly string[]> {
    try {
        return await readdir(folder);
    } catch (error) {
        if (isSystemError(error, "ENOENT")) return [];
        throw error;
    }
}

/** Settings of Pod links. */
export interface PodLinkOptions {
    /** In bytes, of both ends. */
    readonly mtu: number;
    /** Of the Pod end: for a datapath that forwards frames without completing their checksums. */
    readonly disableTxChecksumOffload: boolean;
    /** Default: the kernel's namespaces. */
    readonly namespaces?: PodNamespaces | undefined;
}

/** Settings of the Pod end of a link. */
export interface PodEndOptions extends PodLinkOptions {
    /** MAC address of the gateway, 6 bytes. */
    readonly gatewayMac: () => Uint8Array;
    /**
     * Bridging mode: Pods of pools are on the physical network and resolve their router themselves; otherwise the
     * gateway stands in for it.
     */
    readonly bridged: boolean;
}

class PodLinkError extends AntreaError<"LINK_VANISHED" | "NAME_TAKEN" | "NODE_NETNS"> {}

/**
 * Rejects the Node's own namespace. The path /proc/PID/ns/net of a record or a call in progress leads there if the
 * process has ended and its PID was reused on the Node; an eth0 in that namespace is the Node's NIC.
 */
function notNodes(netns: string): string {
    if (!isNodeNetns(netns)) return netns;
    throw new PodLinkError(
        "NODE_NETNS",
        "environment",
        `${netns} is the network namespace of the Node itself; the Pod whose process had this number has ended`,
    );
}

/** A link whose addresses are not known yet. */
export type PodLinkDraft = Pick<PodRecord, "containerId" | "ifName" | "netns" | "hostIfName">;

/**
 * Creates the veth pair of a record in one netlink message, with the Pod end directly inside the Pod's namespace. The
 * Pod end of a draft has a temporary MAC address until `configurePodEnd`; the host end keeps its own, as it never sends
 * a frame. Replaces a pair that an earlier call for this container left; rejects with PodLinkError `NAME_TAKEN` if
 * another link has one of the names, `NODE_NETNS`, or NetlinkError.
 */
export async function createPodLink(
    netlink: Netlink,
    link: PodRecord | PodLinkDraft,
    options: PodLinkOptions,
): Promise<void> {
    const { mtu } = options;
    const [mac, alias] =
        "mac" in link ? [link.mac, toAlias(link)] : [draftMacOf(link.containerId), pendingAlias(link.containerId)];
    await createPair(netlink, link, { mac, alias, mtu });
}

/** Creates the veth pair with these MAC address of the Pod end, alias of the host end, and MTU; see `createPodLink`. */
export async function createPair(
    netlink: Netlink,
    link: PodLinkDraft,
    { mac, alias, mtu }: { readonly mac: string; readonly alias: string; readonly mtu: number },
): Promise<void> {
    const create = (): Promise<void> =>
        netlink.createVeth({
            name: link.hostIfName,
            mac: hostMacOf(mac),
            mtu,
            alias,
            up: true,
            group: podLinkGroup,
            // One queue pair: the kernel would create one per CPU, each with files in sysfs.
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
 * Whether the peer of a veth is in the namespace at `netns`. The ifindex alone is not sufficient, since it is unique
 * only per namespace. The link must have been read just before: that read makes the kernel assign an nsid to the peer's
 * namespace. Rejects with NetlinkError if `netns` cannot be opened.
 */
export async function isPeerIn(
    netlink: Pick<Netlink, "netnsId">,
    { peerNetnsId }: Pick<Link, "peerNetnsId">,
    netns: string,
): Promise<boolean> {
    return peerNetnsId !== undefined && peerNetnsId === (await netlink.netnsId(netns));
}

/** Throws NetlinkError if the network namespace does not exist, PodLinkError `NODE_NETNS` if it is the Node's. */
export function checkNamespace(netns: string, { namespaces = kernelNamespaces }: PodLinkOptions): void {
    using _ = namespaces.openIn(netns);
}

/**
 * Sets up what does not depend on the addresses of the Pod end: with `disableTxChecksumOffload` disables that offload.
 * Throws NetlinkError, or PodLinkError `NODE_NETNS`.
 */
export function preparePodEnd(link: PodLinkDraft, options: Omit<PodLinkOptions, "mtu">): void {
    const { disableTxChecksumOffload, namespaces = kernelNamespaces } = options;
    if (disableTxChecksumOffload) namespaces.setTxChecksumOffload(link.ifName, false, link.netns);
}

/**
 * Writes the record onto the alias of a link once its addresses are known; no effect if the link is gone. Each change
 * of a host end makes ovs-vswitchd iterate over all its ports, so only this is changed, and only when OVS has no work
 * left to do. Rejects with NetlinkError.
 */
export async function completePodLink(netlink: Netlink, record: PodRecord): Promise<void> {
    const link = await netlink.link(record.hostIfName);
    if (link !== undefined) await netlink.setLink(link.index, { alias: toAlias(record) });
}

/**
 * Configures the Pod end: addresses, default routes and link-up in one batch, through a netlink socket in the Pod's
 * namespace. Idempotent. Rejects with PodLinkError `LINK_VANISHED` or `NODE_NETNS`, or NetlinkError.
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
            // The router of a pool's subnet is not on the bridge: the gateway stands in for it. For IPv4 the flows
            // answer ARP.
            if (pool !== undefined && gateway.family === 6 && !options.bridged) {
                batch.replaceNeighbour({ index: link.index, ip: gateway, mac: formatMac(options.gatewayMac()) });
            }
            batch.replaceRoute({ dst: "default", family: gateway.family, via: gateway, dev: link.index });
        }
    });
}

/**
 * Sets the host end up if it is down; no effect if it is gone. If a link is replaced at once by one of the same name,
 * ovs-vswitchd may apply the cached flags of the old link to the new one, which sets it down when OVS opens it. Rejects
 * with NetlinkError.
 */
export async function raisePodLink(netlink: Netlink, record: PodRecord): Promise<void> {
    const link = await netlink.link(record.hostIfName);
    if (link?.up === false) await netlink.setLink(link.index, { up: true });
}

/**
 * Sets both ends of a running Pod's link to the MTU of new links, and the host end to its group. A Pod end whose MTU
 * differs from its host end was configured by another program and is not changed. No effect if the link is gone;
 * rejects with NetlinkError or PodLinkError `NODE_NETNS` if the Pod's namespace cannot be opened.
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
 * Updates the neighbour entries of a Pod of a pool after bridging mode was enabled or disabled: on the physical network
 * it resolves its router itself, otherwise the gateway stands in for the router. No effect without the interface;
 * rejects as `adjustPodLink`.
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
 * Removes the record from a link that outlives it, and sets the link down: it must not be rebuilt from the alias, and
 * without its OVS port the Pod's frames would reach the Node's own network stack, bypassing all flows. Links of others
 * are not changed. Succeeds if the link is gone before; rejects with NetlinkError, `ENODEV` if it disappears meanwhile.
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

/**
 * Deletes the veth pair of a record or draft, released or not. Succeeds if it is gone; links of others are not changed.
 * Rejects with NetlinkError.
 */
export async function deletePodLink(netlink: Netlink, record: PodLinkDraft): Promise<void> {
    const link = await netlink.link(record.hostIfName);
    if (link !== undefined && isOwn(link, record)) await netlink.deleteLink(link.index);
}

function isOwn(link: Link, record: PodLinkDraft): boolean {
    const container = containerOfAlias(link.alias);
    return link.kind === "veth" && (container === "" || container === record.containerId);
}

/**
 * Removes a link with the wanted name if an earlier call for this container left it (deleting one end of a pair deletes
 * both); a link of another owner is kept and named in the error.
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
