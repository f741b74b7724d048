import type { AgentConfig } from "@antrea/settings";

/** The datapath type, as configured: `system` (kernel) or `netdev` (userspace). */
export type DatapathType = AgentConfig["ovsDatapathType"];
/** The tunnel type, as configured: `geneve`, `vxlan`, `gre` or `stt`. */
export type TunnelType = AgentConfig["tunnelType"];

/**
 * The properties in which the datapaths of Open vSwitch differ, constant for each type. docs/datapaths.md lists what
 * was verified where.
 */
export interface Datapath {
    /** `datapath_type` of the bridge. */
    readonly type: DatapathType;
    /** Its name in messages, such as "the kernel datapath (system)". */
    readonly title: string;
    /** Checksums must be complete when a frame enters OVS: the datapath does not fill in those left to the NIC. */
    readonly mustComputeChecksums: boolean;
    /** Its connection tracking state is lost when ovs-vswitchd ends. */
    readonly forgetsConnections: boolean;
    /** Packets that come in fragments stay so after connection tracking, and later fragments show no ports. */
    readonly keepsFragments: boolean;
    /** It receives copies of frames: the Node's own network stack also gets what Pods send, unless filtered. */
    readonly copiesFrames: boolean;
    /** Tunnels leave only through a NIC that is a port of a bridge of this type whose LOCAL port has the address. */
    readonly tunnelsNeedBridge: boolean;
    /**
     * Supported tunnel types. OVS accepts a tunnel port of any type it has a name for, and may drop all packets to it.
     */
    readonly tunnelTypes: readonly TunnelType[];
    /**
     * Commands for `Unixctl.request`, whose effect ends with ovs-vswitchd (ovs-vswitchd(8)); `DatapathProbe` runs them.
     */
    readonly settings: readonly (readonly [command: string, ...args: readonly string[]])[];
    /** What the user can do if it lacks a feature, for messages. */
    readonly remedy: string;
}

/** Maximum MTU of tunnelled packets in bytes: that of the tunnel devices that OVS creates in the kernel. */
export const maxTunnelMtu = 65_000;

const datapaths: Readonly<Record<DatapathType, Datapath>> = {
    system: {
        type: "system",
        title: "the kernel datapath (system)",
        mustComputeChecksums: false,
        forgetsConnections: false,
        keepsFragments: false,
        copiesFrames: false,
        tunnelsNeedBridge: false,
        // STT is in a kernel module outside of Linux; whether it is present shows when the port is added.
        tunnelTypes: ["geneve", "vxlan", "gre", "stt"],
        settings: [],
        remedy: "the kernel's module openvswitch is too old: use a newer kernel, or set ovs.datapathType=netdev",
    },
    netdev: {
        type: "netdev",
        title: "the userspace datapath (netdev)",
        mustComputeChecksums: true,
        forgetsConnections: true,
        keepsFragments: true,
        copiesFrames: true,
        tunnelsNeedBridge: true,
        tunnelTypes: ["geneve", "vxlan", "gre"],
        // A Service connection and a direct connection to its endpoint may have the same addresses and ports, since the
        // host translates the former and never sees the latter. The endpoint, whose side of the earlier connection is
        // in TIME_WAIT, answers the later one with sequence numbers of the earlier, and only the client's RST lets the
        // later connection begin (RFC 9293 sections 3.5.2 and 3.10.7.4). The kernel's tracking accepts both segments;
        // this datapath treats them as invalid while sequence checking is enabled.
        settings: [["dpctl/ct-disable-tcp-seq-chk", "netdev@ovs-netdev"]],
        remedy: "this Open vSwitch is too old: use a newer one",
    },
};

/** The properties of the datapath of this type. */
export function datapathOf(type: DatapathType): Datapath {
    return datapaths[type];
}
