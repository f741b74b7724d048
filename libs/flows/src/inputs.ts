import { formatIp, macToBigint, type Family, type IpAddress, type Prefix } from "@antrea/ip";
import { invalidInput } from "./error.ts";

/** The internal port through which the host's network stack and the Pods reach each other. */
export interface Gateway {
    readonly ofPort: number;
    readonly mac: Uint8Array;
    /** Its addresses, one for each family in use at least. */
    readonly ips: readonly IpAddress[];
}

/** What the flows of a Node are made of that it has before its first Pod. */
export interface PipelineInput {
    /** The families that Pods use; the other one is dropped. */
    readonly families: readonly Family[];
    readonly gateway: Gateway;
    /** The Node's own podCIDRs. */
    readonly podPrefixes: readonly Prefix[];
    /**
     * The datapath forgets connections when OVS restarts (netdev). The rest of a TCP connection that it does not know
     * passes the host then.
     */
    readonly forgetsConnections: boolean;
    /** The Node's NIC is a port of the bridge. Not together with tunnels. */
    readonly bridging?: BridgingInput | undefined;
}

/** The port of the tunnels to other Nodes. Without it all traffic between Nodes goes by the host's routes. */
export interface TunnelInput extends Pick<PipelineInput, "families" | "podPrefixes" | "bridging"> {
    readonly ofPort: number;
}

/** Bridging mode: the Node's way to the underlay network goes through the bridge. */
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
    /** What bridged Pods reach by the host's address translation. */
    readonly serviceCidrs: readonly Prefix[];
}

export interface PodInput {
    readonly ofPort: number;
    /** Of the interface in the Pod. */
    readonly mac: Uint8Array;
    /** At most as many as the Pod has families; need not lie in the Node's podCIDRs. */
    readonly ips: readonly IpAddress[];
    readonly gatewayMac: Uint8Array;
    /** Its addresses are of a subnet that is not this Node's: the gateway stands for everybody else in it. */
    readonly foreignSubnet?: boolean | undefined;
    /** It is a station of the underlay network. Needs a pipeline in bridging mode; not together with `foreignSubnet`. */
    readonly bridged?: BridgedPod | undefined;
}

/** What a bridged Pod has besides. */
export interface BridgedPod {
    /** 0 to 4094; 0 is the untagged network, which is the Node's own. */
    readonly vlan: number;
    /** Of the host port. */
    readonly hostMac: Uint8Array;
}

/** A VLAN of the underlay in which this Node has bridged Pods. */
export interface VlanInput {
    /** 0 to 4094, 0 the untagged one. */
    readonly vlan: number;
    /** The ports of the bridged Pods in it. */
    readonly podPorts: readonly number[];
    readonly uplink: { readonly ofPort: number };
    readonly host: { readonly ofPort: number };
}

/** Another Node in the underlay's subnet of this one. */
export interface BridgedPeerInput {
    /** Its podCIDRs. */
    readonly podPrefixes: readonly Prefix[];
    /** Of its address in the underlay. */
    readonly mac: Uint8Array;
}

/** Another Node that is reached by the tunnel. */
export interface TunnelPeerInput {
    /** Its podCIDRs, or those of them that are not reached by a route. */
    readonly podPrefixes: readonly Prefix[];
    /** Where its end of the tunnel is. */
    readonly remote: IpAddress;
    /** Of our own gateway. */
    readonly gatewayMac: Uint8Array;
}

// OpenFlow's own port numbers begin after it: OFPP_MAX of OpenFlow 1.0, which OVS keeps to.
const maxOfPort = 0xfeff;
// IEEE 802.1Q keeps 4095 to itself.
const maxVlan = 4094;

/** Refuses a pipeline that would lose traffic without a word. */
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
}

function checkBridging({ uplink, host }: BridgingInput): void {
    checkPort("bridging.uplink.ofPort", uplink.ofPort);
    checkPort("bridging.host.ofPort", host.ofPort);
    checkMac("bridging.host.mac", host.mac);
    for (const ip of host.ips) {
        if (ip.value === 0n) throw invalidInput("bridging.host.ips", formatIp(ip), "it is no Node's address");
    }
}

/** Refuses a Pod whose flows would open its guard or hit another port. */
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

/** Refuses a VLAN that no tag can name, and ports that are none. */
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

/** Refuses a peer whose flow would send to nobody. */
export function checkPeer(input: TunnelPeerInput): void {
    checkMac("gatewayMac", input.gatewayMac);
    const { family, value } = input.remote;
    const isMulticast = family === 4 ? value >> 28n === 0xen : value >> 120n === 0xffn;
    if (value === 0n || isMulticast) {
        throw invalidInput("remote", formatIp(input.remote), "it must be the address of one Node");
    }
}

/** Refuses a MAC address that is no single station's. */
export function checkMac(field: string, mac: Uint8Array): void {
    const value = macToBigint(mac);
    if (value === 0n || (value & (1n << 40n)) !== 0n) {
        throw invalidInput(field, `0x${value.toString(16)}`, "it must be a unicast MAC address, not zero");
    }
}

/** Refuses what is no number of a port. */
export function checkPort(field: string, ofPort: number): void {
    if (!Number.isInteger(ofPort) || ofPort < 1 || ofPort > maxOfPort) {
        throw invalidInput(field, ofPort, `it must be a whole number from 1 to ${maxOfPort}`);
    }
}
