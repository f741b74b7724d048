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
    /** How traffic to other Nodes travels. `noEncap`: through the gateway, by the host's routes. */
    readonly mode: "noEncap";
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

export interface PeerNodeInput {
    /** The podCIDRs of another Node. */
    readonly podPrefixes: readonly Prefix[];
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
}

/** Refuses a Pod whose flows would open its guard or hit another port. */
export function checkPod(input: PodInput): void {
    checkPort("ofPort", input.ofPort);
    checkMac("mac", input.mac);
    checkMac("gatewayMac", input.gatewayMac);
    for (const ip of input.ips) if (ip.value === 0n) throw invalidInput("ips", formatIp(ip), "it is no Pod's address");
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
