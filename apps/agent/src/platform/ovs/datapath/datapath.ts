import type { AgentConfig } from "@antrea/settings";

export type DatapathType = AgentConfig["ovsDatapathType"];
export type TunnelType = AgentConfig["tunnelType"];

/** All that differs between the datapaths of Open vSwitch. docs/datapaths.md says what of it was proven where. */
export interface Datapath {
    /** As in `datapath_type` of the bridge. */
    readonly type: DatapathType;
    /** For messages. */
    readonly title: string;
    /** Checksums must be in the frame when it enters OVS: one that is left to the NIC is never filled in. */
    readonly mustComputeChecksums: boolean;
    /** What its connection tracking knows ends with ovs-vswitchd. */
    readonly forgetsConnections: boolean;
    /** It reads copies of frames: the Node's own stack gets what Pods send too, unless it is kept from it. */
    readonly copiesFrames: boolean;
    /** Tunnels leave only through a NIC that is a port of a bridge of this type whose LOCAL port has the address. */
    readonly tunnelsNeedBridge: boolean;
    /** What it can send. OVS takes a tunnel port of any type it has a name for, and may drop all packets to it. */
    readonly tunnelTypes: readonly TunnelType[];
    /** Commands for ovs-vswitchd, which forgets them when it ends; ovs-vswitchd(8). */
    readonly settings: readonly (readonly [command: string, ...args: readonly string[]])[];
    /** What to do when it lacks a feature. */
    readonly remedy: string;
}

/** Largest MTU of what is tunnelled: the tunnel devices that OVS makes in the kernel have this one. */
export const maxTunnelMtu = 65_000;

const datapaths: Readonly<Record<DatapathType, Datapath>> = {
    system: {
        type: "system",
        title: "the kernel datapath (system)",
        mustComputeChecksums: false,
        forgetsConnections: false,
        copiesFrames: false,
        tunnelsNeedBridge: false,
        // Whether a kernel has STT shows when the port is added: it is in a module outside of Linux.
        tunnelTypes: ["geneve", "vxlan", "gre", "stt"],
        settings: [],
        remedy: "the kernel's module openvswitch is too old: use a newer kernel, or set ovs.datapathType=netdev",
    },
    netdev: {
        type: "netdev",
        title: "the userspace datapath (netdev)",
        mustComputeChecksums: true,
        forgetsConnections: true,
        copiesFrames: true,
        tunnelsNeedBridge: true,
        tunnelTypes: ["geneve", "vxlan", "gre"],
        // A Service's connection and a direct one to its endpoint may have the same addresses and ports: the host translates
        // the one and never sees the other. The endpoint, whose side of the earlier is in TIME_WAIT, then answers the later
        // with numbers of the earlier, and only the client's reset lets the later begin (RFC 9293 sections 3.5.2 and
        // 3.10.7.4). The kernel's tracking lets both segments pass; this one takes them for invalid as long as it checks.
        settings: [["dpctl/ct-disable-tcp-seq-chk", "netdev@ovs-netdev"]],
        remedy: "this Open vSwitch is too old: use a newer one",
    },
};

export function datapathOf(type: DatapathType): Datapath {
    return datapaths[type];
}
