import { type IpAddress } from "@antrea/ip";
import { planAddresses, type AddressPlan, type IpamSection, type WantedAddresses } from "@antrea/networks";
import { type PoolSet } from "../pools/index.ts";
import { type NetworkFacts, type RequestedNetwork } from "./requested-networks.ts";

/** The addresses that the interface is to have, by the rules of the agent. Throws CniCallError if they break one. */
export function planOf(ipam: IpamSection, requested: RequestedNetwork, pools: PoolSet): AddressPlan {
    return planAddresses(ipam, wantedOf(ipam, requested), (ip) => poolOf(pools, ip, ipam));
}

/** The section from which the network gives addresses; undefined if it gives none, or not of Antrea. */
export function sectionOf({ network }: RequestedNetwork): IpamSection | undefined {
    return "ipam" in network ? network.ipam : undefined;
}

/** The IPPools that the networks need: those of their sections, and those that contain the addresses that they need. */
export function poolNamesOf({ requested }: NetworkFacts, pools: PoolSet): readonly string[] {
    const names = requested.flatMap((one) => {
        const ipam = sectionOf(one);
        if (ipam === undefined) return [];
        const { addresses } = wantedOf(ipam, one);
        return [...ipam.ippools, ...addresses.flatMap(({ ip }) => pools.covering(ip).map(({ name }) => name))];
    });
    return [...new Set(names)];
}

function wantedOf(ipam: IpamSection, { network, selection }: RequestedNetwork): WantedAddresses {
    const takesIps = network.kind !== "delegated" || network.takesIps;
    if (selection.ips.length === 0 || !takesIps) return { addresses: ipam.addresses, source: "ipam.addresses" };
    return { addresses: selection.ips.map((one) => ({ ...one, gateway: undefined })), source: "ips" };
}

/** A listed one takes precedence. */
function poolOf(pools: PoolSet, ip: IpAddress, { ippools }: IpamSection): string | undefined {
    const names = pools.covering(ip).map(({ name }) => name);
    return ippools.find((name) => names.includes(name)) ?? names[0];
}
