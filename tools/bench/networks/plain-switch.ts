import { basename } from "node:path";
import { podLinkGroup } from "../data-plane/plain-bridge.ts";
import { type LoadNode } from "../data-plane/load-node.ts";
import { type LoadPod } from "../data-plane/load-pod.ts";
import { runWithin } from "../netns.ts";

const bridge = "br-plain-vlans";

/** A switching bridge of Open vSwitch on a Node without an agent: its NIC is a trunk, and Pods have access ports. */
export class PlainSwitch {
    readonly #node: LoadNode;

    constructor(node: LoadNode) {
        this.#node = node;
    }

    /** Makes the bridge. */
    async start(): Promise<void> {
        await this.#node.ovs.addBridge(bridge, { failMode: "standalone" });
    }

    /** Adds the NIC to the bridge. */
    async addNic(nic: string): Promise<void> {
        const node = this.#node;
        // What the agent sets on its NIC: the host's stack drops what Open vSwitch has read from it.
        node.run("sysctl", "-qw", `net.ipv6.conf.${nic}.disable_ipv6=1`);
        node.run("ip", "link", "set", nic, "group", podLinkGroup, "up");
        await node.ovs.addPort(bridge, nic, { type: "" });
    }

    /** Connects a Pod to a VLAN by its interface eth1, which gets this address with its prefix length. */
    async connect(pod: LoadPod, vlan: number, address: string): Promise<void> {
        const node = this.#node;
        const name = `plain-vlan-${node.index}`;
        const netns = basename(pod.netnsPath);
        const mtu = ["mtu", "1500"];
        node.run("ip", "link", "add", name, ...mtu, "type", "veth", "peer", "name", "eth1", ...mtu, "netns", netns);
        node.run("ip", "link", "set", name, "group", podLinkGroup, "up");
        const access = ["--", "set", "port", name, `tag=${vlan}`, "vlan_mode=access"];
        await node.ovs.vsctl("add-port", bridge, name, ...access);
        const inside = (...command: readonly string[]): string => runWithin(pod.netnsPath, ...command);
        inside("ethtool", "-K", "eth1", "tx", "off");
        inside("ip", "address", "add", address, "dev", "eth1");
        inside("ip", "link", "set", "eth1", "up");
    }
}
