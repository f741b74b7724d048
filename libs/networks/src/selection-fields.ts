import { ifnameFault } from "@antrea/cni";
import { IpError, parseIp, type IpAddress } from "@antrea/ip";
import { type NetworkError } from "./error.ts";
import { interfaceMac } from "./mac.ts";
import { refused } from "./refused-selection.ts";
import { parseRequestedIp, type RequestedIp } from "./requested-ip.ts";

const reservedNames: ReadonlySet<string> = new Set(["eth0", "lo"]);

/**
 * Reads the name of an interface, undefined if it is absent. Throws `NetworkError` `INVALID_SELECTION`, as all
 * functions of this file.
 */
export function interfaceOf(value: unknown, path: string): string | undefined {
    if (value === undefined) return undefined;
    const next = "choose another name, or leave it out for the next of eth1, eth2, …";
    if (typeof value !== "string") throw refused(`${path}.interface`, value, "must be a string", next);
    if (reservedNames.has(value)) {
        throw refused(`${path}.interface`, value, "is the name of an interface that every Pod has", next);
    }
    const rule = ifnameFault(value);
    if (rule !== undefined) throw refused(`${path}.interface`, value, rule, next);
    return value;
}

/** Reads a MAC address that an interface can have; undefined if it is absent. */
export function macOf(value: unknown, path: string): string | undefined {
    if (value === undefined) return undefined;
    const field = `${path}.mac`;
    if (typeof value !== "string") {
        throw refused(field, value, "must be a string", "write a MAC address, as 02:00:00:00:00:01");
    }
    const read = interfaceMac(value);
    if ("mac" in read) return read.mac;
    throw refused(field, value, read.rule, read.next);
}

/** Reads an address, with a prefix length or without. */
export function ipOf(value: unknown, field: string): RequestedIp {
    const next = "write an address as 10.10.1.5, or with its prefix length as 10.10.1.5/24";
    if (typeof value !== "string") throw refused(field, value, "must be a string", next);
    return parsed(
        () => parseRequestedIp(value),
        (rule) => refused(field, value, rule, next),
    );
}

/** Reads the address of a gateway. */
export function gatewayOf(value: unknown, field: string): IpAddress {
    const next = "write the address of a gateway, as 10.10.1.1";
    if (typeof value !== "string") throw refused(field, value, "must be a string", next);
    return parsed(
        () => parseIp(value),
        (rule) => refused(field, value, rule, next),
    );
}

/** Reads a list, empty if it is absent. */
export function listOf(value: unknown, field: string): readonly unknown[] {
    if (value === undefined) return [];
    if (!Array.isArray(value)) throw refused(field, value, "must be a list", 'write a list, as ["10.10.1.5"]');
    return value as readonly unknown[];
}

/** The result of a parser of @antrea/ip, whose error becomes one that names the field. */
function parsed<Value>(parse: () => Value, refuse: (rule: string) => NetworkError): Value {
    try {
        return parse();
    } catch (error) {
        if (!(error instanceof IpError)) throw error;
        throw refuse(`is refused: ${error.details.rule ?? error.message}`);
    }
}
