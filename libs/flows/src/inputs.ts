import { type Family, type IpAddress, type Prefix } from "@antrea/ip";

/**
 * The internal port of the bridge between the host's network stack and the Pods: OpenFlow port, MAC and IP addresses.
 */
export interface Gateway {
    /** OpenFlow port number. */
    readonly ofPort: number;
    /** MAC address, 6 bytes. */
    readonly mac: Uint8Array;
    /** Its addresses, at least one for each IP family in use. */
    readonly ips: readonly IpAddress[];
}

/**
 * Input for the flows of a Node that are independent of Pods; see `nodeParts` and `bridgingParts`. `checkPipeline`
 * checks it.
 */
export interface PipelineInput {
    /** IP families that Pods use; packets of the other one are dropped. */
    readonly families: readonly Family[];
    readonly gateway: Gateway;
    /** The Node's own podCIDRs. */
    readonly podPrefixes: readonly Prefix[];
    /**
     * Whether the datapath loses its connections when OVS restarts (netdev). The rest of an unknown TCP connection is
     * then sent through the host.
     */
    readonly forgetsConnections: boolean;
    /** Set in bridging mode: the Node's NIC is a port of the bridge. Not together with tunnels. */
    readonly bridging?: BridgingInput | undefined;
    /** Set if the switch serves Services. */
    readonly services?: ServicesInput | undefined;
}

/** Input for Services that the switch serves; see `serviceParts`. */
export interface ServicesInput {
    /** Whether it serves the Node itself and clients outside too, beside the Pods of the Node. */
    readonly proxyAll: boolean;
    /** The tunnel port, if there is one. */
    readonly tunnel?: { readonly ofPort: number } | undefined;
    /** Whether connection tracking gives back fragments, the later ones without ports (netdev), or whole packets. Default false. */
    readonly keepsFragments?: boolean | undefined;
    /** Whether the switch lacks `rejectMeter`: what the agent would answer is dropped. Default false. */
    readonly withoutMeter?: boolean | undefined;
    /**
     * Whether the switch has had all Services, which a flow of category `servicesComplete` marks. Until then what the host
     * sends to none is dropped, not rejected: it may be for a Service to come, and clients try again by themselves. Default
     * true.
     */
    readonly areComplete?: boolean | undefined;
}

/** The tunnel port to other Nodes. Without it, all traffic between Nodes uses the host's routes. */
export interface TunnelInput extends Pick<PipelineInput, "families" | "podPrefixes" | "bridging"> {
    /** OpenFlow port number of the tunnel interface. */
    readonly ofPort: number;
}

/**
 * Input for bridging mode: the bridge connects the Node to the underlay network. `ofPort` is an OpenFlow port number, a
 * MAC address has 6 bytes.
 */
export interface BridgingInput {
    /** The NIC. */
    readonly uplink: { readonly ofPort: number };
    /** The internal port that has the NIC's name, MAC and addresses. */
    readonly host: {
        readonly ofPort: number;
        readonly mac: Uint8Array;
        /** The Node's addresses on it, without link-local ones. */
        readonly ips: readonly IpAddress[];
    };
    /** Service CIDRs: bridged Pods reach them by the host's address translation. */
    readonly serviceCidrs: readonly Prefix[];
}

/** Input for the flows of one Pod interface; see `podFlows`. MAC addresses have 6 bytes. `checkPod` checks it. */
export interface PodInput {
    /** OpenFlow port number of the Pod's interface on the bridge. */
    readonly ofPort: number;
    /** MAC address of the interface in the Pod. */
    readonly mac: Uint8Array;
    /** At most one for each IP family; need not lie in the Node's podCIDRs. */
    readonly ips: readonly IpAddress[];
    /** MAC address of this Node's gateway. */
    readonly gatewayMac: Uint8Array;
    /** Its addresses are of a subnet that is not on this Node: the gateway answers ARP for all other addresses. */
    readonly foreignSubnet?: boolean | undefined;
    /**
     * Set for a Pod that is in the underlay network. Requires a pipeline in bridging mode; not together with
     * `foreignSubnet`.
     */
    readonly bridged?: BridgedPod | undefined;
    /** Whether the switch serves Services: the Pod can then be an endpoint, also of its own connections. */
    readonly services?: boolean | undefined;
}

/** Input that a bridged Pod needs in addition; the MAC address of the host port has 6 bytes. */
export interface BridgedPod {
    /** VLAN ID, 0 to 4094; 0 is the untagged network, which is the Node's own. */
    readonly vlan: number;
    /** MAC address of the host port. */
    readonly hostMac: Uint8Array;
    /** The subnets of its addresses: those to whose addresses it does not send by its router. */
    readonly subnets: readonly Prefix[];
}

/** A VLAN of the underlay in which this Node has bridged Pods; see `vlanFlows`. */
export interface VlanInput {
    /** VLAN ID, 0 to 4094; 0 is untagged. */
    readonly vlan: number;
    /** OpenFlow ports of the bridged Pods in the VLAN. */
    readonly podPorts: readonly number[];
    /** The NIC. */
    readonly uplink: { readonly ofPort: number };
    /** The internal port that has the NIC's name. */
    readonly host: { readonly ofPort: number };
}

/** Another Node in this Node's subnet of the underlay; see `bridgedPeerFlows`. The MAC address has 6 bytes. */
export interface BridgedPeerInput {
    /** The Node's podCIDRs. */
    readonly podPrefixes: readonly Prefix[];
    /** MAC address of the Node's underlay address. */
    readonly mac: Uint8Array;
    /** The Node's own addresses in that subnet, if the switch serves Services, whose endpoints may have them. Default: none. */
    readonly ips?: readonly IpAddress[] | undefined;
}

/** Another Node that is reached by the tunnel; see `tunnelPeerFlows`. The MAC address has 6 bytes. */
export interface TunnelPeerInput {
    /** The Node's podCIDRs, or those of them that no route reaches. */
    readonly podPrefixes: readonly Prefix[];
    /** The remote endpoint of the tunnel. */
    readonly remote: IpAddress;
    /** MAC address of this Node's own gateway. */
    readonly gatewayMac: Uint8Array;
}
