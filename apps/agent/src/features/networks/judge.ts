import { formatIp, sameIp, type IpAddress } from "@antrea/ip";
import {
    planAddresses,
    type IpamSection,
    type NetworkSelection,
    type OwnNetwork,
    type PoolMatch,
    type PoolOf,
    type WantedAddresses,
} from "@antrea/networks";
import type { FoundDevice, PlannedNetwork } from "../../platform/pod-interfaces/index.ts";
import { NetworksError } from "./errors.ts";

/** What networks are judged against. */
export interface Surroundings {
    /** Why no Pod can be connected to a VLAN network, as part of a sentence; undefined if Pods can be. */
    readonly bridgeProblem: string | undefined;
    /** The largest MTU that all NICs of the bridge have, in bytes. */
    readonly nicMtu: number;
    /** Finds the IPPool that contains an address; undefined if AntreaIPAM is disabled. */
    readonly poolOf: ((ip: IpAddress, named: readonly string[], match: PoolMatch) => string | undefined) | undefined;
}

/** What is requested of a network for one interface. */
export interface InterfaceRequest extends Pick<PlannedNetwork, "defaultGateways" | "ifName" | "mac"> {
    /** Undefined: the addresses of the network. */
    readonly wanted: WantedAddresses | undefined;
    /** The device of a network of kind `sriov`. */
    readonly device?: FoundDevice | undefined;
}

/**
 * The request that an element of the annotation is. A requested address that the network lists has the gateway of there, and its
 * prefix length unless it names one.
 */
export function interfaceRequestOf(
    { interfaceName, mac, ips, defaultRoute }: NetworkSelection,
    { ipam }: OwnNetwork,
): InterfaceRequest {
    const addresses = ips.map(({ ip, prefixLength }) => {
        const listed = ipam?.addresses.find((one) => sameIp(one.ip, ip));
        return { ip, prefixLength: prefixLength ?? listed?.prefixLength, gateway: listed?.gateway };
    });
    return {
        ifName: interfaceName,
        mac,
        wanted: ips.length === 0 ? undefined : { addresses, source: "ips" },
        defaultGateways: defaultRoute,
    };
}

const defaultMtu = 1_500;

/**
 * The interface that a Pod gets on a network, after every check that needs no change. Pure function. Throws NetworksError,
 * or CniCallError for addresses that break a rule, see `planAddresses`.
 */
export function judge(network: OwnNetwork, request: InterfaceRequest, surroundings: Surroundings): PlannedNetwork {
    const { ifName, wanted, defaultGateways } = request;
    const name = network.network;
    const link = network.kind === "sriov" ? functionOf(network, request) : vlanLinkOf(network, request, surroundings);
    const { ipam } = network;
    if (ipam === undefined && wanted !== undefined) {
        const texts = wanted.addresses.map(({ ip }) => formatIp(ip)).join(", ");
        throw new NetworksError(
            "BAD_REQUEST",
            `network ${name}: ${wanted.source}: ${texts} cannot be had, as the network has no ipam; next: request no address, or give the network an ipam of type "antrea"`,
        );
    }
    return {
        ifName,
        network: name,
        vlan: network.vlan,
        ...link,
        addresses: ipam && planned(name, ipam, wanted, surroundings.poolOf),
        routes: ipam?.routes ?? [],
        dns: ipam?.dns,
        defaultGateways,
    };
}

function vlanLinkOf(
    { mtu, network }: OwnNetwork,
    { mac }: InterfaceRequest,
    { bridgeProblem, nicMtu }: Surroundings,
): Pick<PlannedNetwork, "mac" | "mtu"> {
    if (bridgeProblem !== undefined) throw new NetworksError("NO_BRIDGE", `network ${network}: ${bridgeProblem}`);
    if (mtu !== undefined && mtu > nicMtu) {
        throw new NetworksError(
            "BAD_MTU",
            `network ${network}: mtu: ${mtu} is above ${nicMtu}, that of the NICs of the secondary bridge; next: lower it, or raise that of the NICs`,
        );
    }
    return { mac, mtu: mtu ?? Math.min(defaultMtu, nicMtu) };
}

/** A virtual function keeps its MAC address: in a virtual machine, nobody could set it. */
function functionOf(
    { mtu, network }: OwnNetwork,
    { device, mac }: InterfaceRequest,
): Pick<PlannedNetwork, "device" | "mac" | "mtu"> {
    if (mac !== undefined) {
        throw new NetworksError(
            "BAD_REQUEST",
            `network ${network}: mac: ${mac} cannot be had, as a virtual function keeps its MAC address; next: request none, and set it where the virtual function is made`,
        );
    }
    if (device === undefined) throw new NetworksError("NO_DEVICE", `network ${network}: no device was looked for`);
    const { mac: own, ...rest } = device;
    return { device: rest, mac: own, mtu: mtu ?? Math.min(defaultMtu, device.linkMtu) };
}

function planned(
    network: string,
    ipam: IpamSection,
    wanted: WantedAddresses = { addresses: ipam.addresses, source: "ipam.addresses" },
    poolOf: Surroundings["poolOf"],
): PlannedNetwork["addresses"] {
    if (poolOf === undefined && ipam.ippools.length > 0) {
        throw new NetworksError(
            "NO_POOLS",
            `network ${network}: ipam.ippools: ${ipam.ippools.join(", ")} cannot be used, as the feature gate AntreaIPAM is off; next: install with featureGates.AntreaIPAM=true, or remove ipam.ippools`,
        );
    }
    const find: PoolOf = (ip, match) => poolOf?.(ip, ipam.ippools, match);
    return planAddresses(ipam, wanted, find);
}
