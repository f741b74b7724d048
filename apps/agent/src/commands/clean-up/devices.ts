import type { Link, Netlink } from "@antrea/netlink";
import type { RunProgram } from "../../platform/program.ts";

/** The names of the agent's bridge and gateway port in OVS, which are also those of their devices on this Node. */
export interface DeviceNames {
    readonly bridge: string;
    readonly gateway: string;
}

/**
 * What the removal has to know about other users of the Node's OVS: while they have a bridge, what all bridges share is
 * kept.
 */
export interface OthersOfOvs {
    /** The names of bridges that are not the agent's. */
    otherBridges(): readonly string[];
}

const kernelDatapath = "ovs-system";
/** Ports that ovs-vswitchd creates for tunnels and for itself, not for a bridge. */
const commonPort = /^(?:ovs-system|(?:genev|vxlan|gre|stt)_sys.*)$/;
/** Number of host ends deleted per batch: the kernel takes some time for each. */
const linksAtOnce = 16;

/**
 * Removes the agent's ports from the kernel datapath, whose internal ports cannot be deleted as links and remain if
 * ovs-vswitchd does not run, and the datapath too if no other owner has a port or bridge. `names` undefined: only ports
 * of Pods are the agent's. Resolves with what was removed besides ports of Pods, as text for users. Rejects with
 * ProgramError or NetlinkError; what is removed by then stays so.
 */
export async function removeDatapathPorts(
    {
        run,
        netlink,
        isPodLink,
    }: { readonly run: RunProgram; readonly netlink: Netlink; readonly isPodLink: (link: Link) => boolean },
    names: DeviceNames | undefined,
    others: OthersOfOvs,
): Promise<readonly string[]> {
    const links = await netlink.links();
    if (!links.some(({ name, kind }) => name === kernelDatapath && kind === "openvswitch")) return [];
    const pods = new Set(links.filter(isPodLink).map(({ name }) => name));
    const removed: string[] = [];
    const ports = portsOf(await run("ovs-dpctl", ["show", kernelDatapath]));
    const own = ports.filter((name) => name === names?.bridge || name === names?.gateway || pods.has(name));
    // A datapath without a port of the agent may belong to another OVS that is starting.
    if (own.length === 0 && names === undefined) return [];
    for (const name of own) {
        await run("ovs-dpctl", ["del-if", kernelDatapath, name]);
        if (!pods.has(name)) removed.push(`port ${name} of datapath ${kernelDatapath}`);
    }
    const left = ports.filter((name) => !own.includes(name));
    if (left.every((name) => commonPort.test(name)) && others.otherBridges().length === 0) {
        await run("ovs-dpctl", ["del-dp", kernelDatapath]);
        removed.push(`datapath ${kernelDatapath}`);
    }
    return removed;
}

/** The port names in the output of `ovs-dpctl show`. */
function portsOf(text: string): readonly string[] {
    return [...text.matchAll(/^\s+port \d+: (\S+)/gm)].map(([, name]) => name ?? "");
}

/**
 * Deletes the host ends of Pods' links and the tun devices that the userspace datapath left: those of `names`, and
 * ovs-netdev if no other owner has a bridge. `names` undefined: links of Pods only. Resolves with what was removed, as
 * text for users; rejects with NetlinkError.
 */
export async function removeDevices(
    { netlink, isPodLink }: { readonly netlink: Netlink; readonly isPodLink: (link: Link) => boolean },
    names: DeviceNames | undefined,
    others: OthersOfOvs,
): Promise<readonly string[]> {
    const links = await netlink.links();
    const pods = links.filter(isPodLink);
    for (let at = 0; at < pods.length; at += linksAtOnce) {
        await netlink.batch((batch) => {
            for (const { index } of pods.slice(at, at + linksAtOnce)) batch.deleteLink(index);
        });
    }
    // The device of the datapath itself is shared by all bridges.
    const shared = others.otherBridges().length === 0 ? ["ovs-netdev"] : [];
    const ownNames = names === undefined ? [] : [names.bridge, names.gateway, ...shared];
    const devices = links.filter(({ name, kind }) => kind === "tun" && ownNames.includes(name));
    for (const { index } of devices) await netlink.deleteLink(index);
    return [
        ...(pods.length === 0 ? [] : [`${pods.length} links of Pods`]),
        ...devices.map(({ name }) => `device ${name}`),
    ];
}

/**
 * Removes the devices of bridges that remain if ovs-vswitchd does not run, by the names of the bridges. Resolves with what
 * was removed, as text for users. Rejects with ProgramError or NetlinkError; what is removed by then stays so.
 */
export async function removeBridgeDevices(
    { run, netlink }: { readonly run: RunProgram; readonly netlink: Pick<Netlink, "deleteLink" | "link"> },
    bridges: readonly string[],
): Promise<readonly string[]> {
    const removed: string[] = [];
    for (const name of bridges) {
        const link = await netlink.link(name);
        if (link?.kind === "openvswitch") await run("ovs-dpctl", ["del-if", kernelDatapath, name]);
        else if (link?.kind === "tun") await netlink.deleteLink(link.index);
        else continue;
        removed.push(`device ${name}`);
    }
    return removed;
}
