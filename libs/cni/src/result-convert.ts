import { AntreaError } from "@antrea/errors";
import { addressInPrefix } from "@antrea/ip";
import { type CniInterface, type CniIp, type CniResult, type CniRoute } from "./result.ts";
import { type CniVersion, isAtLeast } from "./versions.ts";

/** A result of this project that no version of the CNI specification can express: a defect. */
export class CniResultError extends AntreaError<"BAD_INTERFACE_INDEX"> {}

/**
 * A result as the JSON object of one version of the CNI specification, with its `cniVersion`; `convertResult` makes it.
 */
export type ConvertedResult = Readonly<Record<string, unknown>> & { readonly cniVersion: CniVersion };

/**
 * Converts a result to the JSON object of a version. Up to 0.4.0 each address has its family as `version`; the members
 * that came with 1.1 (mtu, socketPath, pciID, attributes of routes) are left out of older versions. Empty lists and
 * sections are left out, except `ips`. Throws `CniResultError` BAD_INTERFACE_INDEX for an address with the index of an
 * interface that does not exist, `IpError` for an invalid address.
 */
export function convertResult(result: CniResult, version: CniVersion): ConvertedResult {
    const newest = isAtLeast(version, "1.1.0");
    return {
        cniVersion: version,
        ...(result.interfaces.length === 0
            ? {}
            : { interfaces: result.interfaces.map((item) => (newest ? { ...item } : oldInterface(item))) }),
        ips: result.ips.map((ip) => convertIp(ip, result.interfaces.length, version)),
        ...(result.routes.length === 0
            ? {}
            : { routes: result.routes.map((route) => (newest ? { ...route } : oldRoute(route))) }),
        ...(Object.keys(result.dns).length === 0 ? {} : { dns: { ...result.dns } }),
    };
}

/** The UTF-8 JSON of `convertResult`, for `cniResult` of the response. Throws as it does. */
export function encodeResult(result: CniResult, version: CniVersion): Uint8Array {
    return new TextEncoder().encode(JSON.stringify(convertResult(result, version)));
}

function convertIp(ip: CniIp, interfaceCount: number, version: CniVersion): CniIp & { readonly version?: string } {
    if (ip.interface !== undefined && !(ip.interface >= 0 && ip.interface < interfaceCount)) {
        throw new CniResultError(
            "BAD_INTERFACE_INDEX",
            "internal",
            `address ${ip.address} points at interface ${ip.interface} of ${interfaceCount}`,
        );
    }
    const { family } = addressInPrefix(ip.address).ip;
    return isAtLeast(version, "1.0.0") ? { ...ip } : { version: String(family), ...ip };
}

function oldInterface({ name, mac, sandbox }: CniInterface): CniInterface {
    return { name, ...(mac === undefined ? {} : { mac }), ...(sandbox === undefined ? {} : { sandbox }) };
}

function oldRoute({ dst, gw }: CniRoute): CniRoute {
    return { dst, ...(gw === undefined ? {} : { gw }) };
}
