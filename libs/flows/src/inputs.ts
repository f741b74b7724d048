import { formatIp, macToBigint, type Family, type IpAddress, type Prefix } from "@antrea/ip";
import { invalidInput } from "./error.ts";

/** The internal port through which the host's network stack and the Pods reach each other. */
export interface Gateway {
    readonly ofPort: number;
    readonly mac: Uint8Array;
    /** Its addresses, one for each family in use at least. */
    readonly ips: readonly IpAddress[];
}

export interface PipelineInput {
    /** The families that Pods use; the other one is dropped. */
    readonly families: readonly Family[];
    readonly gateway: Gateway;
    /** The Node's own podCIDRs. */
    readonly podPrefixes: readonly Prefix[];
    /** The port of the tunnels to other Nodes. Without it all traffic between Nodes goes by the host's routes. */
    readonly tunnel?: { readonly ofPort: number } | undefined;
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
    if (input.tunnel !== undefined) checkPort("tunnel.ofPort", input.tunnel.ofPort);
}

/** Refuses a Pod whose flows would open its guard or hit another port. */
export function checkPod(input: PodInput): void {
    checkPort("ofPort", input.ofPort);
    checkMac("mac", input.mac);
    checkMac("gatewayMac", input.gatewayMac);
    for (const ip of input.ips) if (ip.value === 0n) throw invalidInput("ips", formatIp(ip), "it is no Pod's address");
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

function checkPort(field: string, ofPort: number): void {
    if (!Number.isInteger(ofPort) || ofPort < 1 || ofPort > maxOfPort) {
        throw invalidInput(field, ofPort, `it must be a whole number from 1 to ${maxOfPort}`);
    }
}
