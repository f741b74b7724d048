import { formatIp, sameIp, type IpAddress } from "@antrea/ip";
import {
    planAddresses,
    type IpamSection,
    type NetworkSelection,
    type OwnNetwork,
    type PoolOf,
    type WantedAddresses,
} from "@antrea/networks";
import type { PlannedNetwork } from "../../platform/pod-interfaces/index.ts";
import { NetworksError } from "./errors.ts";

/** What networks are judged against. */
export interface Surroundings {
    /** Why no Pod can be connected to a VLAN network, as part of a sentence; undefined if Pods can be. */
    readonly bridgeProblem: string | undefined;
    /** The largest MTU that all NICs of the bridge have, in bytes. */
    readonly nicMtu: number;
    /** Finds the IPPool that contains an address; undefined if AntreaIPAM is disabled. */
    readonly poolOf: ((ip: IpAddress, named: readonly string[]) => string | undefined) | undefined;
}

/** What is requested of a network for one interface. */
export interface InterfaceRequest extends Pick<PlannedNetwork, "defaultGateways" | "ifName" | "mac"> {
    /** Undefined: the addresses of the network. */
    readonly wanted: WantedAddresses | undefined;
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
export function judge(
    network: OwnNetwork,
    { ifName, mac, wanted, defaultGateways }: InterfaceRequest,
    { bridgeProblem, nicMtu, poolOf }: Surroundings,
): PlannedNetwork {
    const name = network.network;
    if (network.kind === "sriov") {
        throw new NetworksError(
            "UNAVAILABLE",
            `network ${name}: networkType: "sriov" is not available in this version; next: use "vlan", or another plugin`,
        );
    }
    if (bridgeProblem !== undefined) throw new NetworksError("NO_BRIDGE", `network ${name}: ${bridgeProblem}`);
    if (network.mtu !== undefined && network.mtu > nicMtu) {
        throw new NetworksError(
            "BAD_MTU",
            `network ${name}: mtu: ${network.mtu} is above ${nicMtu}, that of the NICs of the secondary bridge; next: lower it, or raise that of the NICs`,
        );
    }
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
        mtu: network.mtu ?? Math.min(defaultMtu, nicMtu),
        mac,
        addresses: ipam && planned(name, ipam, wanted, poolOf),
        routes: ipam?.routes ?? [],
        dns: ipam?.dns,
        defaultGateways,
    };
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
    const find: PoolOf = (ip) => poolOf?.(ip, ipam.ippools);
    return planAddresses(ipam, wanted, find);
}
