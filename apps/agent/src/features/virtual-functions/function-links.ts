import { messageOf } from "@antrea/errors";
import { isNetlinkError, Netlink, type Link } from "@antrea/netlink";
import type { Logger } from "@antrea/runtime";
import { isNodeNetns } from "../../platform/host/node-netns.ts";
import type { FunctionDevice, NetworkRecord } from "../../platform/pod-interfaces/index.ts";
import { fromFunctionAlias, toFunctionAlias, type FormerLink, type FunctionAlias } from "./alias.ts";
import { FunctionError } from "./errors.ts";
import type { DeviceLinks } from "./sysfs.ts";

/** Dependencies of FunctionLinks. */
export interface FunctionLinksComponents {
    readonly netlink: Pick<Netlink, "link" | "links" | "setLink">;
    readonly devices: Pick<DeviceLinks, "folderOf" | "nameOf">;
    readonly logger: Logger;
}

/** The network namespace of the Node, which the agent's Pod uses. */
const nodeNetns = "/proc/thread-self/ns/net";

/** What is known of the interface that a virtual function is; without device and MAC address, the alias counts. */
export type FunctionInterface = Pick<NetworkRecord, "containerId" | "ifName" | "netns"> & {
    readonly device?: FunctionDevice | undefined;
    readonly mac?: string | undefined;
};

/**
 * The links of virtual functions: moves them into Pods and back. The alias of a link has its container, its interface and what it
 * was before, so that one is recognized that the kernel brought back when the namespace of a Pod ended.
 */
export class FunctionLinks {
    readonly #components: FunctionLinksComponents;

    constructor(components: FunctionLinksComponents) {
        this.#components = components;
    }

    /**
     * Moves the link of a record's device into the Pod, with the name and MTU of the record; it is down then. No effect if
     * the Pod has it already. Rejects with FunctionError `NO_LINK`, `BAD_MTU` or `NOT_MOVED`, or NetlinkError; what was
     * changed then is undone by `bringHome`.
     */
    async take(record: NetworkRecord & { readonly device: FunctionDevice }): Promise<void> {
        const { netlink } = this.#components;
        const { containerId, device, ifName, mtu, netns, network } = record;
        const link = await this.linkOf(device);
        if (link === undefined) {
            if (await this.#isIn(record)) return;
            throw noLink(network, device, this.#components.devices.folderOf(device));
        }
        await netlink.setLink(link.index, { alias: toFunctionAlias({ containerId, ifName, former: formerOf(link) }) });
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

    /**
     * Makes the link of an interface one of the Node again, as it was before. Succeeds if neither the Pod nor the Node has
     * it: the kernel brings it back when the namespace has ended, see `returned`. Rejects with NetlinkError.
     */
    async bringHome(record: FunctionInterface): Promise<void> {
        const { logger, netlink } = this.#components;
        await this.#moveHome(record);
        const link = (await netlink.links()).find((one) => isOf(fromFunctionAlias(one.alias), record));
        if (link !== undefined) await this.#restore(link, formerAs(link, record));
        else if (record.device !== undefined && (await this.linkOf(record.device)) === undefined)
            logger.warn("a virtual function is not there; it comes back when the network namespace of its Pod ends", {
                device: record.device.id,
                container: record.containerId,
            });
    }

    /** The links that the Node has again, or still, although they are marked as interfaces of containers. */
    async returned(): Promise<readonly FunctionAlias[]> {
        const links = await this.#components.netlink.links();
        return links.flatMap(({ alias }) => fromFunctionAlias(alias) ?? []);
    }

    /** The link of a device on the Node; undefined if it has none. Rejects with NetlinkError or the error of node:fs. */
    async linkOf(device: Pick<FunctionDevice, "bus" | "id">): Promise<Link | undefined> {
        const name = await this.#components.devices.nameOf(device);
        return name === undefined ? undefined : this.#components.netlink.link(name);
    }

    /**
     * Makes a link as it was before a Pod got it. What the kernel refuses is logged; without its name it keeps the alias, so
     * that this is repeated.
     */
    async #restore(link: Link, former: FormerLink): Promise<void> {
        const { logger, netlink } = this.#components;
        const change = async (what: string, ...changes: Parameters<Netlink["setLink"]>): Promise<boolean> => {
            try {
                await netlink.setLink(...changes);
                return true;
            } catch (error) {
                const fields = { link: link.name, was: former.name, what, reason: messageOf(error) };
                logger.warn("a virtual function cannot be made as it was", fields);
                return false;
            }
        };
        const { index, mac, mtu, name } = link;
        if (link.up) await change("state", index, { up: false });
        const { name: formerName, alias, up } = former;
        if (name !== formerName && !(await change("name", index, { name: formerName }))) return;
        if (mtu !== former.mtu) await change("mtu", index, { mtu: former.mtu });
        if (mac !== former.mac) await change("mac", index, { mac: former.mac });
        if (up) await change("state", index, { up });
        // Last: after a crash before this, all is repeated.
        await change("alias", index, { alias });
        logger.info("a virtual function is the Node's again", { link: formerName });
    }

    async #moveHome(record: FunctionInterface): Promise<void> {
        try {
            if (record.netns === "" || isNodeNetns(record.netns)) return;
            using pod = Netlink.openIn(record.netns);
            const link = (await pod.links()).find((one) => isOf(fromFunctionAlias(one.alias), record));
            if (link === undefined) return;
            const { name } = formerAs(link, record);
            // In one step: the Node may have a link of the present name.
            await pod.setLink(link.index, { netnsPath: nodeNetns, name });
        } catch (error) {
            // EEXIST: the former name is taken; it is the Node's all the same, or stays until the namespace ends.
            if (!isNetlinkError(error, "ENOENT", "NOT_A_NETNS", "ENODEV", "EEXIST")) throw error;
        }
    }

    async #isIn({ containerId, ifName, netns }: FunctionInterface): Promise<boolean> {
        if (isNodeNetns(netns)) return false;
        using pod = Netlink.openIn(netns);
        return isOf(fromFunctionAlias((await pod.link(ifName))?.alias), { containerId, ifName });
    }
}

/** What a link was before a Pod got it: what its alias has, if that of an earlier Pod is still on it. */
export function formerOf(link: Link): FormerLink {
    const { alias = "", mac, mtu, name, up } = link;
    return fromFunctionAlias(alias)?.former ?? { name, mtu, mac, up, alias };
}

/** The same of a known interface, whose Pod may have changed the alias. */
function formerAs(link: Link, { device, mac }: FunctionInterface): FormerLink {
    const former = formerOf(link);
    if (device === undefined) return former;
    return { ...former, name: device.linkName, mtu: device.linkMtu, mac: mac ?? former.mac };
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

function isOf(
    alias: Pick<FunctionAlias, "containerId" | "ifName"> | undefined,
    { containerId, ifName }: Pick<FunctionInterface, "containerId" | "ifName">,
): boolean {
    return alias?.containerId === containerId && alias.ifName === ifName;
}
