import { present } from "@antrea/errors";
import { addressInPrefix, parseIp, parseMac, parsePrefix, type Family, type Prefix } from "@antrea/ip";
import { JsonReader } from "./json-object.ts";
import { parsed } from "./parsed.ts";
import { type CniDns, type CniInterface, type CniIp, type CniResult, type CniRoute } from "./result.ts";
import { type CniVersion, checkVersion } from "./versions.ts";

/** Options of `parseResult`: where the result is in its document, and the version if it has none. */
export interface ParseResultOptions {
    /** The path of the result in its document, for messages. */
    readonly path: string;
    /** The version of a result without `cniVersion`. */
    readonly defaultVersion: CniVersion;
}

const maxUint32 = 0xffff_ffff;

/**
 * Parses a result of any supported version (the value after `JSON.parse`) and converts it to the newest form:
 * addresses, families and indexes are checked, empty members left out. Throws `CniCallError`: INCOMPATIBLE_CNI_VERSION,
 * or INVALID_NETWORK_CONFIG with key, value and rule in the message.
 */
export function parseResult(value: unknown, options: ParseResultOptions): CniResult {
    const reader = new JsonReader(value, options.path);
    checkVersion(reader.get("cniVersion") ?? options.defaultVersion, reader.key("cniVersion"));
    const interfaces = reader.objects("interfaces").map(parseInterface);
    return {
        interfaces,
        ips: reader.objects("ips").map((ip) => parseIpEntry(ip, interfaces.length)),
        routes: reader.objects("routes").map(parseRoute),
        dns: parseDns(reader) ?? {},
    };
}

/**
 * Parses the `dns` section of a configuration or a result, without its empty members; undefined if `parent` has no key
 * `dns`, {} if all are empty. Throws `CniCallError` INVALID_NETWORK_CONFIG.
 */
export function parseDns(parent: JsonReader): CniDns | undefined {
    const reader = parent.optionalObject("dns");
    if (reader === undefined) return undefined;
    return present<CniDns>({
        nameservers: some(reader.texts("nameservers")),
        domain: some(reader.optionalText("domain")),
        search: some(reader.texts("search")),
        options: some(reader.texts("options")),
    });
}

function parseInterface(reader: JsonReader): CniInterface {
    const mac = some(reader.optionalText("mac"));
    if (mac !== undefined) parsed(reader, "mac", () => parseMac(mac));
    return present<CniInterface>({
        name: reader.text("name"),
        mac,
        mtu: reader.optionalInteger("mtu", 0, maxUint32),
        sandbox: some(reader.optionalText("sandbox")),
        socketPath: some(reader.optionalText("socketPath")),
        pciID: some(reader.optionalText("pciID")),
    });
}

function parseIpEntry(reader: JsonReader, interfaceCount: number): CniIp {
    const address = reader.text("address");
    const { family } = parsed(reader, "address", () => addressInPrefix(address)).ip;
    checkIpVersion(reader, family);
    const gateway = some(reader.optionalText("gateway"));
    if (gateway !== undefined && parsed(reader, "gateway", () => parseIp(gateway)).family !== family) {
        throw reader.invalid("gateway", `must be of the family of the address ${address}`);
    }
    const index = reader.optionalInteger("interface", 0, maxUint32);
    if (index !== undefined && index >= interfaceCount) {
        throw reader.invalid("interface", `must be an index of interfaces, which has ${interfaceCount} elements`);
    }
    return present<CniIp>({ address, gateway, interface: index });
}

/** Up to 0.4.0 each address has its family as `version`, which must be correct. */
function checkIpVersion(reader: JsonReader, family: Family): void {
    const version = reader.optionalText("version");
    if (version !== undefined && version !== String(family)) {
        throw reader.invalid("version", `must be "${family}", the family of the address`);
    }
}

/** The destination of a route, whose text may have host bits. Throws IpError `INVALID_PREFIX`; never for a parsed route. */
export function routeDestination({ dst }: Pick<CniRoute, "dst">): Prefix {
    return parsePrefix(dst, { hostBits: "mask" });
}

/**
 * Parses an element of `routes` of a result or a configuration; `dst` stays as written and may have host bits, see
 * `routeDestination`. Throws `CniCallError` INVALID_NETWORK_CONFIG with key, value and rule in the message.
 */
export function parseRoute(reader: JsonReader): CniRoute {
    const dst = reader.text("dst");
    const { family } = parsed(reader, "dst", () => routeDestination({ dst }));
    const gw = some(reader.optionalText("gw"));
    if (gw !== undefined && parsed(reader, "gw", () => parseIp(gw)).family !== family) {
        throw reader.invalid("gw", `must be of the family of the destination ${dst}`);
    }
    return present<CniRoute>({
        dst,
        gw,
        mtu: reader.optionalInteger("mtu", 0, maxUint32),
        advmss: reader.optionalInteger("advmss", 0, maxUint32),
        priority: reader.optionalInteger("priority", 0, maxUint32),
        table: reader.optionalInteger("table", 0, maxUint32),
        scope: reader.optionalInteger("scope", 0, 255),
    });
}

/** An empty text or list means "not set". */
function some<Value extends { readonly length: number }>(value: Value | undefined): Value | undefined {
    return value === undefined || value.length === 0 ? undefined : value;
}
