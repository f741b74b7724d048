import { type PrivateOvs } from "@antrea/openflow/testing";
import { runWithin } from "./netns.ts";

/** The bridge that tunnels of the userspace datapath leave by, see docs/datapaths.md. */
export const phyBridge = "br-phy";

export interface PhyBridgeOptions {
    /** A link that is there; the bridge takes it as its NIC. */
    readonly nic: string;
    readonly mac: string;
    /** With their prefix lengths. */
    readonly addresses: readonly string[];
    /** Where `nic` and ovs-vswitchd are. Default: in our namespace. */
    readonly netnsPath?: string;
}

/** Makes it as a user does: a bridge over a NIC, whose LOCAL port has the Node's addresses. */
export async function addPhyBridge(ovs: PrivateOvs, options: PhyBridgeOptions): Promise<void> {
    const { nic, mac, addresses, netnsPath } = options;
    const run = (...command: readonly string[]): string => runWithin(netnsPath, ...command);
    // What OVS reads from the NIC reaches the Node's own stack too, which must not answer as well.
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

export function addAddresses(link: string, addresses: readonly string[], netnsPath?: string): void {
    for (const address of addresses) {
        const noDad = address.includes(":") ? ["nodad"] : [];
        runWithin(netnsPath, "ip", "address", "add", address, "dev", link, ...noDad);
    }
}
