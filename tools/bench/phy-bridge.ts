import { type PrivateOvs } from "@antrea/openflow/testing";
import { runWithin } from "./netns.ts";

/** The bridge through which tunnels of the userspace datapath leave, see docs/datapaths.md. */
export const phyBridge = "br-phy";

export interface PhyBridgeOptions {
    /** An existing link that becomes the bridge's NIC. */
    readonly nic: string;
    readonly mac: string;
    /** With their prefix lengths. */
    readonly addresses: readonly string[];
    /** The network namespace of `nic` and ovs-vswitchd. Default: the current one. */
    readonly netnsPath?: string;
}

/** Creates it as a user does: a bridge with a NIC, whose LOCAL port has the Node's addresses. */
export async function addPhyBridge(ovs: PrivateOvs, options: PhyBridgeOptions): Promise<void> {
    const { nic, mac, addresses, netnsPath } = options;
    const run = (...command: readonly string[]): string => runWithin(netnsPath, ...command);
    // Frames that OVS reads from the NIC also reach the Node's own stack, which must not answer too.
    const chain = `{ type filter hook ingress device ${nic} priority 0; policy drop; }`;
    run("nft", `add table netdev ${phyBridge}; add chain netdev ${phyBridge} ${nic} ${chain}`);
    run("ethtool", "-K", nic, "tx", "off", "gro", "off");
    run("ip", "link", "set", nic, "up");
    await ovs.addBridge(phyBridge, { failMode: "standalone" });
    await ovs.vsctl("set", "bridge", phyBridge, `other_config:hwaddr="${mac}"`);
    await ovs.addPort(phyBridge, nic, { type: "" });
    run("ethtool", "-K", phyBridge, "tx", "off");
    run("ip", "link", "set", phyBridge, "up");
    addAddresses(phyBridge, addresses, netnsPath);
}

/** Adds addresses with prefix lengths to a link, IPv6 without duplicate address detection. */
export function addAddresses(link: string, addresses: readonly string[], netnsPath?: string): void {
    for (const address of addresses) {
        const noDad = address.includes(":") ? ["nodad"] : [];
        runWithin(netnsPath, "ip", "address", "add", address, "dev", link, ...noDad);
    }
}
