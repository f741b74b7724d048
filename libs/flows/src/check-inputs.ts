import { formatIp, macToBigint } from "@antrea/ip";
import { invalidInput } from "./error.ts";
import {
    type BridgingInput,
    type PipelineInput,
    type PodInput,
    type TunnelPeerInput,
    type VlanInput,
} from "./inputs.ts";

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
