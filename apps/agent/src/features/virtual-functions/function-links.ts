import { KeyedLock, settleAll } from "@antrea/async";
import { messageOf } from "@antrea/errors";
import { isNetlinkError, Netlink, type Link } from "@antrea/netlink";
import type { Logger } from "@antrea/runtime";
import { isNodeNetns } from "../../platform/host/node-netns.ts";
import {
    isSameAttachment,
    type DeviceId,
    type FunctionDevice,
    type NetworkRecord,
} from "../../platform/pod-interfaces/index.ts";
import { fromFunctionAlias, toFunctionAlias } from "./alias.ts";
import { FunctionError } from "./errors.ts";
import type { FormerLink, KeptLink } from "./kept-link.ts";
import type { KeptLinks } from "./kept-links.ts";
import { linkInPod } from "./link-in-pod.ts";
import { anyName, restoreLink } from "./restore-link.ts";
import type { DeviceLinks } from "./sysfs.ts";

/** Dependencies of FunctionLinks. */
export interface FunctionLinksComponents {
    readonly netlink: Pick<Netlink, "addAltName" | "deleteAltName" | "link" | "setLink">;
    readonly devices: Pick<DeviceLinks, "folderOf" | "linksOf">;
    readonly kept: Pick<KeptLinks, "fileOf" | "list" | "read" | "remove" | "write">;
    readonly logger: Logger;
}

/** The record of an interface that is a virtual function. */
export type FunctionRecord = NetworkRecord & { readonly device: FunctionDevice };

/** The network namespace of the Node, which the agent's Pod uses. */
const nodeNetns = "/proc/thread-self/ns/net";

/** A device as the Node has it: what is kept of its link, and the link with its `port`, if the Node has that. */
interface OnNode {
    readonly kept: KeptLink | undefined;
    readonly link: Link | undefined;
    readonly port: string;
}

/**
 * The links of virtual functions: moves them into Pods and back. What a link was is kept in a file of the Node before anything
 * is changed, and until the link is as it was, and sysfs names the link of a device. So nothing that a Pod does to
 * its link, as to change its alias, decides about a link of the Node.
 */
export class FunctionLinks {
    readonly #components: FunctionLinksComponents;
    /** One device at a time: a link may be made as it was for one container while another one gets it. */
    readonly #queue = new KeyedLock();

    constructor(components: FunctionLinksComponents) {
        this.#components = components;
    }

    /**
     * What the link of a device was before a Pod got it, or is if no Pod did; undefined if the Node does not have it. Rejects
     * with NetlinkError or the error of node:fs.
     */
    formerOf(device: DeviceId): Promise<FormerLink | undefined> {
        return this.#inTurn(device, async () => {
            const { kept, link } = await this.#onNode(device);
            return link && (kept?.former ?? presentOf(link));
        });
    }

    /**
     * Moves the link of a record's device into the Pod, with the name and MTU of the record; it is down then. No effect if
     * the Pod has it already. Rejects with FunctionError `NO_LINK`, `NOT_KEPT`, `BAD_MTU` or `NOT_MOVED`, NetlinkError, or
     * the error of node:fs; what was changed then is undone by `bringHome`.
     */
    take(record: FunctionRecord): Promise<void> {
        return this.#inTurn(record.device, () => this.#take(record));
    }

    /**
     * Makes the link of an interface one of the Node again, as it was before; no effect if the device is that of another
     * interface by now. Succeeds if neither the Pod nor the Node has it: the kernel brings it back when the namespace has
     * ended, see `restoreReturned`. Rejects with NetlinkError or the error of node:fs.
     */
    bringHome(record: FunctionRecord): Promise<void> {
        return this.#inTurn(record.device, async () => {
            const { logger } = this.#components;
            const kept = this.#components.kept.read(record.device);
            if (kept !== undefined && !isSameAttachment(kept, record)) return;
            if (kept !== undefined) await moveHome(record, kept);
            if ((await this.#restore(record.device)) !== undefined) return;
            logger.warn("a virtual function is not there; it comes back when the network namespace of its Pod ends", {
                device: record.device.id,
                container: record.containerId,
            });
        });
    }

    /**
     * Makes all links as they were that the Node has again, or still, although they are kept as interfaces of containers.
     * Rejects with the first failure, after all are tried.
     */
    async restoreReturned(signal: AbortSignal): Promise<void> {
        const all = this.#components.kept.list();
        await settleAll(all.map(({ device }) => this.#inTurn(device, () => this.#restore(device), signal)));
    }

    #inTurn<T>({ bus, id }: DeviceId, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
        return this.#queue.run(`${bus} ${id}`, work, signal);
    }

    async #onNode(device: DeviceId): Promise<OnNode> {
        const { devices, kept: links, netlink } = this.#components;
        const kept = links.read(device);
        const all = await devices.linksOf(device);
        const found = kept === undefined ? all[0] : all.find(({ port }) => port === kept.port);
        if (found === undefined) return { kept, link: undefined, port: "" };
        return { kept, link: await netlink.link(found.name), port: found.port };
    }

    async #take(record: FunctionRecord): Promise<void> {
        const { devices, netlink } = this.#components;
        const { device, ifName, mtu, netns, network } = record;
        const { kept, link: found, port } = await this.#onNode(device);
        // What an earlier Pod made of it is not passed on: an alternative name could even keep it out of this Pod. It is down.
        if (kept !== undefined && found !== undefined)
            await restoreLink(this.#components, found, { ...kept, former: { ...kept.former, up: false } });
        const link = found && (await netlink.link(found.index));
        if (link === undefined) {
            if (kept !== undefined && (await hasAlready(record, kept))) return;
            throw noLink(network, device, devices.folderOf(device));
        }
        await this.#keep(record, { port, kind: link.kind, former: kept?.former ?? presentOf(link) });
        await netlink.setLink(link.index, { alias: toFunctionAlias(record) });
        try {
            if (link.mtu !== mtu) await netlink.setLink(link.index, { mtu });
        } catch (cause) {
            if (!isNetlinkError(cause)) throw cause;
            throw new FunctionError(
                "BAD_MTU",
                `network ${network}: mtu: ${mtu} is not taken by the kernel for device ${device.id} (${cause.message}); next: lower it, or raise that of the physical function`,
                { cause },
            );
        }
        try {
            if (isNodeNetns(netns)) throw notMoved(record, `${netns} is the network namespace of the Node itself`);
            await netlink.setLink(link.index, { netnsPath: netns, name: ifName });
        } catch (cause) {
            if (!isNetlinkError(cause)) throw cause;
            throw notMoved(record, cause.message, cause);
        }
    }

    async #keep(
        { containerId, device, ifName, network }: FunctionRecord,
        link: Pick<KeptLink, "former" | "kind" | "port">,
    ): Promise<void> {
        const { kept } = this.#components;
        const { bus, id } = device;
        try {
            await kept.write({ ...link, containerId, ifName, device: { bus, id } });
        } catch (cause) {
            throw new FunctionError(
                "NOT_KEPT",
                `network ${network}: device ${id} stays with the Node, as what its link is cannot be kept in ${kept.fileOf(device)} (${messageOf(cause)}); next: see that the folder is a writable hostPath with free space`,
                { cause },
            );
        }
    }

    /** Restores the link of a device if anything is kept of it. Undefined if the Node does not have the link. */
    async #restore(device: DeviceId): Promise<Link | undefined> {
        const { kept: links, logger } = this.#components;
        const { kept, link } = await this.#onNode(device);
        if (kept === undefined || link === undefined) return link;
        if (!(await restoreLink(this.#components, link, kept))) return link;
        try {
            await links.remove(device);
            logger.info("virtual function returned to the Node", { device: device.id, link: kept.former.name });
        } catch (error) {
            const fields = { file: links.fileOf(device), reason: messageOf(error) };
            logger.warn("what is kept of a virtual function cannot be removed; its link stays as it was", fields);
        }
        return link;
    }
}

/** What a link is that no Pod has; a mark that was left on it is none of the Node's. */
function presentOf({ alias = "", altNames, group, mac, mtu, name, promiscuous, up }: Link): FormerLink {
    const own = fromFunctionAlias(alias) === undefined ? alias : "";
    return { name, mtu, mac, up, alias: own, group, promiscuous, altNames };
}

/** Moves the link of an interface out of the Pod, if that has it. */
async function moveHome(record: FunctionRecord, { former, kind }: KeptLink): Promise<void> {
    const { netns } = record;
    try {
        if (netns === "" || isNodeNetns(netns)) return;
        using pod = Netlink.openIn(netns);
        const link = linkInPod(await pod.links(), record, kind);
        if (link === undefined) return;
        // The kernel moves no link with a name that one of the Node has.
        for (const one of link.altNames.filter((known) => !former.altNames.includes(known)))
            await pod.deleteAltName(link.index, one);
        // In one step with a name, as the Node may have a link of the present one.
        const move = (name: string): Promise<void> => pod.setLink(link.index, { netnsPath: nodeNetns, name });
        try {
            await move(former.name);
        } catch (error) {
            if (!isNetlinkError(error, "EEXIST")) throw error;
            // The former name is taken; the kernel may have moved the link all the same.
            await move(anyName);
        }
    } catch (error) {
        // EEXIST: the Pod gave it such a name meanwhile, so that it stays until the namespace ends.
        if (!isNetlinkError(error, "ENOENT", "NOT_A_NETNS", "ENODEV", "EEXIST")) throw error;
    }
}

/** Whether the Pod has the link of an interface already, with its name. */
async function hasAlready(record: FunctionRecord, kept: KeptLink): Promise<boolean> {
    if (isNodeNetns(record.netns) || !isSameAttachment(kept, record)) return false;
    using pod = Netlink.openIn(record.netns);
    return linkInPod(await pod.links(), record, kept.kind)?.name === record.ifName;
}

/** The error for a device of which the Node has no link; `folder` is that of sysfs which names links. */
export function noLink(network: string, { id }: Pick<FunctionDevice, "id">, folder: string): FunctionError {
    return new FunctionError(
        "NO_LINK",
        `network ${network}: device ${id} has no link on this Node: ${folder} names none; next: bind the device to its network driver, not to one of userspace such as vfio-pci; if a Pod that ends has it, wait`,
    );
}

function notMoved({ device, ifName, netns, network }: NetworkRecord, reason: string, cause?: unknown): FunctionError {
    return new FunctionError(
        "NOT_MOVED",
        `network ${network}: device ${device?.id} cannot become ${ifName} of ${netns}: ${reason}; next: see whether another plugin has made ${ifName} there`,
        { cause },
    );
}
