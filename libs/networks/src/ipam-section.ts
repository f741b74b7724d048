import {
    JsonReader,
    parsed,
    parseDns,
    parseRoute,
    shown,
    type CniDns,
    type CniRoute,
    type JsonObject,
} from "@antrea/cni";
import { addressInPrefix, formatIp, parseIp, type IpAddress } from "@antrea/ip";
import { objectNameFault } from "./names.ts";

/** The `type` of the `ipam` section whose addresses this project gives. */
export const antreaIpamType = "antrea";

/** A static address of an interface, of either family; `gateway` is of the same family. */
export interface StaticAddress {
    readonly ip: IpAddress;
    /** Bits of its subnet's prefix. */
    readonly prefixLength: number;
    /** Its default gateway; may lie outside of its subnet. Undefined if it has none. */
    readonly gateway: IpAddress | undefined;
}

/** The `ipam` section of type `antrea` in a network configuration. */
export interface IpamSection {
    /** Names of IPPools, in order: each gives one address. */
    readonly ippools: readonly string[];
    /** Static addresses, in order, behind those of the IPPools. */
    readonly addresses: readonly StaticAddress[];
    /** Copied to the result. */
    readonly routes: readonly CniRoute[];
    /** Copied to the result; undefined if the section has none. */
    readonly dns: CniDns | undefined;
    /** Keys of the section that have no effect. */
    readonly ignored: readonly string[];
}

const keysInEffect: ReadonlySet<string> = new Set(["type", "ippools", "addresses", "routes", "dns"]);

/**
 * Parses the `ipam` section of a network configuration; it may have neither IPPools nor addresses, as requested ones
 * may replace them. Its `type` is not checked. Throws `CniCallError` INVALID_NETWORK_CONFIG with key, value and rule in
 * the message.
 */
export function parseIpamSection(section: JsonObject): IpamSection {
    const reader = new JsonReader(section, "ipam");
    return {
        ippools: poolsOf(reader),
        addresses: reader.objects("addresses").map(addressOf),
        routes: reader.objects("routes").map(parseRoute),
        dns: parseDns(reader),
        ignored: Object.keys(section).filter((key) => reader.get(key) !== undefined && !keysInEffect.has(key)),
    };
}

function poolsOf(reader: JsonReader): readonly string[] {
    const pools = reader.texts("ippools") ?? [];
    for (const [index, pool] of pools.entries()) {
        const rule = objectNameFault(pool);
        if (rule !== undefined)
            throw reader.invalid("ippools", `has as element ${index + 1} ${shown(pool)}, which ${rule}`);
        if (pools.indexOf(pool) !== index) throw reader.invalid("ippools", `names ${shown(pool)} twice`);
    }
    return pools;
}

function addressOf(reader: JsonReader): StaticAddress {
    const text = reader.text("address");
    const { ip, prefix } = parsed(reader, "address", () => addressInPrefix(text));
    const gatewayText = reader.optionalText("gateway") ?? "";
    const gateway = gatewayText === "" ? undefined : parsed(reader, "gateway", () => parseIp(gatewayText));
    if (gateway !== undefined && gateway.family !== ip.family) {
        throw reader.invalid("gateway", `must be of the family of the address ${formatIp(ip)}`);
    }
    return { ip, prefixLength: prefix.length, gateway };
}
