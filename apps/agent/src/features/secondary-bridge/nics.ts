import { formatIp } from "@antrea/ip";
import { RouteScope, type Netlink } from "@antrea/netlink";

/** A NIC of the configuration, as it is now. */
export interface Nic {
    readonly name: string;
    /** What is wrong with it, as a sentence with the next step; undefined if nothing is. */
    readonly problem: string | undefined;
    /** Whether it can be a port of the bridge. */
    readonly isUsable: boolean;
    /** In bytes; 0 if there is no such link. */
    readonly mtu: number;
}

/** The device of Open vSwitch's kernel module. */
const kernelDatapath = "ovs-system";
/** ARPHRD_ETHER. */
const ethernet = 1;

/**
 * Reads the NICs of these names, in order; changes nothing. One that has addresses is not connected: a port of a bridge
 * does not use them, and the Node might lose its connections. Rejects with NetlinkError.
 *
 * @param bridgeOf the OVS bridge that has a port of this name; undefined if none has
 * @param ownBridge the bridge that the NICs are for
 */
export async function readNics(
    netlink: Pick<Netlink, "addresses" | "link">,
    names: readonly string[],
    { bridgeOf, ownBridge }: { readonly bridgeOf: (name: string) => string | undefined; readonly ownBridge: string },
): Promise<readonly Nic[]> {
    return Promise.all(
        names.map(async (name): Promise<Nic> => {
            const link = await netlink.link(name);
            const refused = (what: string, isUsable = false): Nic => ({
                name,
                problem: `${name} ${what}`,
                isUsable,
                mtu: link?.mtu ?? 0,
            });
            if (link === undefined)
                return refused("does not exist; correct secondaryNetwork.ovsBridges, or add the NIC");
            if (link.loopback || link.type !== ethernet) return refused("is no Ethernet link; name another NIC");
            const bridge = bridgeOf(name);
            if (bridge !== undefined && bridge !== ownBridge) {
                return refused(`is a port of OVS bridge ${bridge}; take it out with "ovs-vsctl del-port"`);
            }
            const master =
                link.master === undefined
                    ? undefined
                    : ((await netlink.link(link.master))?.name ?? `link ${link.master}`);
            // The kernel datapath is the master of the ports that it has.
            const isPort = bridge === ownBridge && master === kernelDatapath;
            if (master !== undefined && !isPort) return refused(`belongs to ${master}; take it out, or name ${master}`);
            const address = (await netlink.addresses(link.index)).find(({ scope }) => scope !== RouteScope.LINK);
            if (address === undefined) return { name, problem: undefined, isUsable: true, mtu: link.mtu };
            const text = formatIp(address.ip);
            // Pods would lose their connections by an address that somebody adds by mistake.
            if (bridge === ownBridge)
                return refused(`has the address ${text}, which does not work on a port of a bridge; take it off`, true);
            return refused(
                `has the address ${text}, and this version connects NICs without addresses only; take the addresses off, or name another NIC`,
            );
        }),
    );
}
