import { CniCallError } from "@antrea/cni";
import { formatIp, type IpAddress } from "@antrea/ip";
import { type IpamSection, type StaticAddress } from "./ipam-section.ts";
import { type AddressSource, type WantedAddress, type WantedAddresses } from "./requested.ts";

/** One address that an interface needs of an IPPool. */
export interface PlannedDemand {
    /** Name of the IPPool. */
    readonly pool: string;
    /** The address that it must be; undefined: any free one. */
    readonly fixed: IpAddress | undefined;
}

/** Where the addresses of an interface come from, made by `planAddresses`. */
export interface AddressPlan {
    /** The addresses to claim. A pool of several demands has a fixed one in each. */
    readonly demands: readonly PlannedDemand[];
    /** The addresses in the order of the result: a demand by its index, or the settings of one that no pool gives. */
    readonly order: readonly (number | StaticAddress)[];
    /** By index of a demand: settings that win over those of its pool. */
    readonly given: ReadonlyMap<number, StaticAddress>;
}

/**
 * Which IPPools match an address: those with a range that contains it, or only those of them that may hand it out, now or
 * when no Node and no Service has it any more: all but those of which it is the gateway or an edge of a subnet.
 */
export type PoolMatch = "range" | "usable";

/** Finds an IPPool that matches the address; undefined if none does. */
export type PoolOf = (ip: IpAddress, match: PoolMatch) => string | undefined;

/**
 * Decides where the addresses of an interface come from: one of every IPPool of the section, in order, then the wanted
 * ones. A wanted address within a listed IPPool is the one that this pool gives; within another IPPool it is claimed
 * there, as it could have a second owner otherwise, and keeps the prefix length and gateway that it was given. All
 * others are static and not claimed, as are those of `ipam.addresses` that no IPPool may hand out, as its gateway. Any other
 * address that is excluded from its IPPool, as that of a Node, is claimed, which refuses it with the reason. Pure function.
 *
 * Throws `CniCallError` INVALID_NETWORK_CONFIG if there is neither an IPPool nor an address, if one is wanted twice, or
 * if a static one has no prefix length.
 */
export function planAddresses(section: IpamSection, wanted: WantedAddresses, poolOf: PoolOf): AddressPlan {
    const { addresses } = wanted;
    if (section.ippools.length === 0 && addresses.length === 0) {
        throw invalid(
            "ipam: has neither IPPools nor addresses; next: name an IPPool in ipam.ippools, or write an address in ipam.addresses",
        );
    }
    const demands: PlannedDemand[] = section.ippools.map((pool) => ({ pool, fixed: undefined }));
    const order: (number | StaticAddress)[] = demands.map((_, index) => index);
    const given = new Map<number, StaticAddress>();
    const seen = new Set<string>();
    for (const address of addresses) {
        const { source = wanted.source } = address;
        const match: PoolMatch = source === "ipam.addresses" ? "usable" : "range";
        const text = formatIp(address.ip);
        if (seen.has(text)) throw invalid(`${source}: has ${text} twice; next: remove one of them`);
        seen.add(text);
        const pool = poolOf(address.ip, match);
        const listed = demands.findIndex((demand) => demand.pool === pool && demand.fixed === undefined);
        if (pool === undefined) order.push(staticOf(address, source));
        else if (listed >= 0) demands[listed] = { pool, fixed: address.ip };
        else {
            order.push(demands.length);
            if (address.prefixLength !== undefined) given.set(demands.length, staticOf(address, source));
            demands.push({ pool, fixed: address.ip });
        }
    }
    return { demands, order, given };
}

/**
 * The addresses of a plan, in the order of the result.
 *
 * @param claimed what the demands got, in their order
 */
export function addressesOf(
    { order, given }: AddressPlan,
    claimed: readonly { readonly ip: IpAddress; readonly prefixLength: number; readonly gateway: IpAddress }[],
): readonly StaticAddress[] {
    return order.flatMap((one) => (typeof one === "number" ? (given.get(one) ?? claimed[one] ?? []) : [one]));
}

function staticOf({ ip, prefixLength, gateway }: WantedAddress, source: AddressSource): StaticAddress {
    if (prefixLength !== undefined) return { ip, prefixLength, gateway };
    const verb = source === "ipam.addresses" ? "hands it out" : "contains it";
    throw invalid(
        `${source}: ${formatIp(ip)} has no prefix length, and no IPPool ${verb}; next: write it with its prefix length, as ${formatIp(ip)}/${ip.family === 4 ? 24 : 64}`,
    );
}

function invalid(message: string): CniCallError {
    return new CniCallError("INVALID_NETWORK_CONFIG", "caller", message);
}
