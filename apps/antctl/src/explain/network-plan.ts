import { type IpAddress } from "@antrea/ip";
import {
    planAddresses,
    type AddressPlan,
    type IpamSection,
    type PoolMatch,
    type WantedAddresses,
} from "@antrea/networks";
import { type PoolSet } from "../pools/index.ts";
import { type NetworkFacts, type RequestedNetwork } from "./requested-networks.ts";

/** The addresses that the interface is to have, by the rules of the agent. Throws CniCallError if they break one. */
export function planOf(ipam: IpamSection, requested: RequestedNetwork, pools: PoolSet): AddressPlan {
    return planAddresses(ipam, wantedOf(ipam, requested), (ip, match) => poolOf(pools, ip, ipam, match));
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
        const wanted = wantedOf(ipam, one);
        const match = wanted.source === "ipam.addresses" ? "usable" : "range";
        return [...ipam.ippools, ...wanted.addresses.flatMap(({ ip }) => matching(pools, ip, match))];
    });
    return [...new Set(names)];
}

function wantedOf(ipam: IpamSection, { network, selection }: RequestedNetwork): WantedAddresses {
    const takesIps = network.kind !== "delegated" || network.takesIps;
    if (selection.ips.length === 0 || !takesIps) return { addresses: ipam.addresses, source: "ipam.addresses" };
    return { addresses: selection.ips.map((one) => ({ ...one, gateway: undefined })), source: "ips" };
}

function matching(pools: PoolSet, ip: IpAddress, match: PoolMatch): readonly string[] {
    return match === "usable" ? pools.handingOut(ip) : pools.covering(ip).map(({ name }) => name);
}

/** A listed one takes precedence. */
function poolOf(pools: PoolSet, ip: IpAddress, { ippools }: IpamSection, match: PoolMatch): string | undefined {
    const names = matching(pools, ip, match);
    return ippools.find((name) => names.includes(name)) ?? names[0];
}
