import { formatIp, macToBigint, type Family, type IpAddress, type Prefix } from "@antrea/ip";
import { invalidInput } from "./error.ts";

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

// Reserved OpenFlow port numbers start above: OFPP_MAX of OpenFlow 1.0, which OVS keeps.
const maxOfPort = 0xfeff;
/** The highest VLAN ID: IEEE 802.1Q reserves 4095. */
export const maxVlan = 4094;

/**
 * Checks input whose flows would silently drop traffic. Throws FlowsError `INVALID_INPUT` without families, for a
 * family without gateway address or podCIDR, for a port or MAC address as `checkPort` and `checkMac`, or the
 * unspecified address as one of the host port.
 */
export function checkPipeline(input: PipelineInput): void {
    const { families, gateway, podPrefixes } = input;
    if (families.length === 0) throw invalidInput("families", "empty", "name at least one of 4 and 6");
    for (const family of families) {
        if (!gateway.ips.some((ip) => ip.family === family)) {
            throw invalidInput("gateway.ips", gateway.ips.map(formatIp).join(" "), `an IPv${family} address is needed`);
        }
        if (!podPrefixes.some((prefix) => prefix.family === family)) {
            throw invalidInput("podPrefixes", "incomplete", `an IPv${family} prefix is needed`);
        }
    }
    checkPort("gateway.ofPort", gateway.ofPort);
    checkMac("gateway.mac", gateway.mac);
    if (input.bridging !== undefined) checkBridging(input.bridging);
    if (input.services?.tunnel !== undefined) checkPort("services.tunnel.ofPort", input.services.tunnel.ofPort);
}

function checkBridging({ uplink, host }: BridgingInput): void {
    checkPort("bridging.uplink.ofPort", uplink.ofPort);
    checkPort("bridging.host.ofPort", host.ofPort);
    checkMac("bridging.host.mac", host.mac);
    for (const ip of host.ips) {
        if (ip.value === 0n) throw invalidInput("bridging.host.ips", formatIp(ip), "it is no Node's address");
    }
}

/**
 * Checks a Pod whose flows would weaken its spoof guard or affect another port. Throws FlowsError `INVALID_INPUT` for a
 * port or MAC address as `checkPort` and `checkMac`, the unspecified address, an invalid VLAN ID, or `bridged` together
 * with `foreignSubnet`.
 */
export function checkPod(input: PodInput): void {
    checkPort("ofPort", input.ofPort);
    checkMac("mac", input.mac);
    checkMac("gatewayMac", input.gatewayMac);
    for (const ip of input.ips) if (ip.value === 0n) throw invalidInput("ips", formatIp(ip), "it is no Pod's address");
    if (input.bridged === undefined) return;
    if (input.foreignSubnet === true) {
        throw invalidInput("bridged", "set", "a Pod on the underlay has no foreignSubnet; leave one out");
    }
    checkVlanId("bridged.vlan", input.bridged.vlan);
    checkMac("bridged.hostMac", input.bridged.hostMac);
}

/**
 * Checks the input of `vlanFlows`. Throws FlowsError `INVALID_INPUT` for a VLAN ID outside 0 to 4094, or a port as
 * `checkPort`.
 */
export function checkVlan(input: VlanInput): void {
    checkVlanId("vlan", input.vlan);
    checkPort("uplink.ofPort", input.uplink.ofPort);
    checkPort("host.ofPort", input.host.ofPort);
    for (const port of input.podPorts) checkPort("podPorts", port);
}

function checkVlanId(field: string, vlan: number): void {
    if (!Number.isInteger(vlan) || vlan < 0 || vlan > maxVlan) {
        throw invalidInput(field, vlan, `it must be a whole number from 0 to ${maxVlan}`);
    }
}

/**
 * Checks the input of `tunnelPeerFlows`. Throws FlowsError `INVALID_INPUT` unless the remote endpoint is a unicast
 * address, and as `checkMac` for the gateway's MAC address; `podPrefixes` are not checked.
 */
export function checkPeer(input: TunnelPeerInput): void {
    checkMac("gatewayMac", input.gatewayMac);
    const { family, value } = input.remote;
    const isMulticast = family === 4 ? value >> 28n === 0xen : value >> 120n === 0xffn;
    if (value === 0n || isMulticast) {
        throw invalidInput("remote", formatIp(input.remote), "it must be the address of one Node");
    }
}

/**
 * Checks a MAC address of a station. Throws FlowsError `INVALID_INPUT` unless it is a unicast address and not zero,
 * IpError `INVALID_MAC` unless it has 6 bytes. `field` is its name in the message.
 */
export function checkMac(field: string, mac: Uint8Array): void {
    const value = macToBigint(mac);
    if (value === 0n || (value & (1n << 40n)) !== 0n) {
        throw invalidInput(field, `0x${value.toString(16)}`, "it must be a unicast MAC address, not zero");
    }
}

/**
 * Checks an OpenFlow port number. Throws FlowsError `INVALID_INPUT` unless it is that of a normal port, 1 to 65279.
 * `field` is its name in the message.
 */
export function checkPort(field: string, ofPort: number): void {
    if (!Number.isInteger(ofPort) || ofPort < 1 || ofPort > maxOfPort) {
        throw invalidInput(field, ofPort, `it must be a whole number from 1 to ${maxOfPort}`);
    }
}
