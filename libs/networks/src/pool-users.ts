import { isJsonObject, type JsonObject } from "@antrea/cni";
import { addressInPrefix, IpError, type IpAddress } from "@antrea/ip";
import { ownPartsOf } from "./own-parts.ts";

/** A pool, as far as networks name it or have static addresses of it. */
export interface NamedPool {
    readonly name: string;
    /** The subnet of the pool whose range has the address; undefined if none has. */
    subnetOf(ip: IpAddress): object | undefined;
}

/**
 * Whether a network takes addresses of the pool: an IPAM section of type antrea in its configuration names the pool, or has
 * a static address in its ranges, also if the section is wrong otherwise.
 *
 * @param config the text of a network configuration, of one plugin or a list
 */
export function takesFromPool(config: string, pool: NamedPool): boolean {
    return ownPartsOf(config)?.sections.some(({ section }) => namesPool(section, pool)) === true;
}

/**
 * Whether an IPAM section of type antrea in a network configuration has a static address that is wanted, also if the section
 * is wrong otherwise; the text as for `takesFromPool`.
 */
export function hasStaticAddress(config: string, isWanted: (ip: IpAddress) => boolean): boolean {
    return ownPartsOf(config)?.sections.some(({ section }) => hasAddress(section, isWanted)) === true;
}

function namesPool(section: JsonObject, { name, subnetOf }: NamedPool): boolean {
    const { ippools } = section;
    if (Array.isArray(ippools) && ippools.includes(name)) return true;
    return hasAddress(section, (ip) => subnetOf(ip) !== undefined);
}

function hasAddress({ addresses }: JsonObject, isWanted: (ip: IpAddress) => boolean): boolean {
    if (!Array.isArray(addresses)) return false;
    return addresses.some((one: unknown) => {
        const ip = addressOf(one);
        return ip !== undefined && isWanted(ip);
    });
}

function addressOf(element: unknown): IpAddress | undefined {
    if (!isJsonObject(element) || typeof element["address"] !== "string") return undefined;
    try {
        return addressInPrefix(element["address"]).ip;
    } catch (error) {
        if (error instanceof IpError) return undefined;
        throw error;
    }
}
