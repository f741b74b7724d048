import { CniCallError } from "./errors.ts";
import { JsonReader, type JsonObject, invalid, isJsonObject } from "./json-object.ts";
import { checkNetworkName, containerIdFault, ifnameFault } from "./names.ts";
import { parseDns, parseResult } from "./result-parse.ts";
import { type CniDns, type CniResult } from "./result.ts";
import { type CniVersion, checkVersion } from "./versions.ts";

/**
 * The configuration of one plugin of a network, as a plugin gets it on standard input (CNI specification, section
 * "Network configuration format").
 */
export interface NetworkConfig {
    readonly cniVersion: CniVersion;
    /** Name of the network, a part of the identity of an attachment. */
    readonly name: string;
    /** Name of the plugin's binary. */
    readonly type: string;
    /** In bytes, 68 to 65535; absent and 0 both mean "not set" and are left out. */
    readonly mtu?: number;
    /** Undefined if the section is absent or {}: no IPAM plugin. */
    readonly ipam?: IpamConfig;
    readonly dns?: CniDns;
    /** The result of the previous plugin, or of ADD in a CHECK or DEL; converted to the newest form. */
    readonly prevResult?: CniResult;
    /**
     * GC: the attachments that still exist (`cni.dev/valid-attachments`, else `cni.dev/attachments`). Without the list,
     * unlike with an empty one, nothing is garbage.
     */
    readonly validAttachments?: readonly Attachment[];
    /** Values of the capabilities, as the runtime set them. */
    readonly runtimeConfig?: JsonObject;
    /** The whole document, for keys that a feature reads itself. */
    readonly raw: JsonObject;
}

/** The `ipam` section of a configuration; `type` is the name of the IPAM plugin's binary. */
export interface IpamConfig {
    readonly type: string;
    /** The whole section: each IPAM plugin has its own keys. */
    readonly raw: JsonObject;
}

/** One network interface of one container, which ADD creates and GC compares. */
export interface Attachment {
    readonly containerId: string;
    readonly ifname: string;
}

/** Options of `parseNetworkConfig`: whether an invalid `prevResult` is an error. */
export interface ParseNetworkConfigOptions {
    /**
     * Handling of a `prevResult` that breaks a rule: "refuse" (the default) throws, "drop" leaves it out, for DEL,
     * which must clean up even with wrong input.
     */
    readonly badPrevResult?: "refuse" | "drop";
}

const maxBytes = 4 * 1024 * 1024;
const minMtu = 68;
const maxMtu = 65535;
const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Parses and checks a network configuration of at most 4 MiB. Unknown keys are allowed, as the CNI specification
 * requires. Throws `CniCallError`: DECODING_FAILURE for empty input or invalid JSON or UTF-8, INCOMPATIBLE_CNI_VERSION,
 * else INVALID_NETWORK_CONFIG with key, value and rule in the message.
 */
export function parseNetworkConfig(input: Uint8Array | string, options: ParseNetworkConfigOptions = {}): NetworkConfig {
    const document = parseJson(input);
    if (!isJsonObject(document)) throw invalid("network configuration", document, "must be a JSON object");
    const reader = new JsonReader(document, "");
    const cniVersion = checkVersion(reader.get("cniVersion"));
    const name = reader.text("name");
    checkNetworkName(name);
    const type = reader.text("type");
    const mtu = parseMtu(reader);
    const ipam = parseIpam(reader);
    const dns = parseDns(reader);
    const prevResult = parsePrevResult(reader, cniVersion, options.badPrevResult ?? "refuse");
    const validAttachments = parseAttachments(reader);
    const runtimeConfig = reader.optionalObject("runtimeConfig")?.raw;
    return {
        cniVersion,
        name,
        type,
        ...(mtu === undefined ? {} : { mtu }),
        ...(ipam === undefined ? {} : { ipam }),
        ...(dns === undefined ? {} : { dns }),
        ...(prevResult === undefined ? {} : { prevResult }),
        ...(validAttachments === undefined ? {} : { validAttachments }),
        ...(runtimeConfig === undefined ? {} : { runtimeConfig }),
        raw: reader.raw,
    };
}

function parseJson(input: Uint8Array | string): unknown {
    if (input.length > maxBytes) {
        throw new CniCallError(
            "INVALID_NETWORK_CONFIG",
            "caller",
            `network configuration: ${input.length} bytes exceed the limit of ${maxBytes}`,
        );
    }
    if (input.length === 0) {
        throw new CniCallError("DECODING_FAILURE", "caller", "network configuration: standard input was empty");
    }
    try {
        const value: unknown = JSON.parse(typeof input === "string" ? input : utf8.decode(input));
        return value;
    } catch (cause) {
        throw new CniCallError("DECODING_FAILURE", "caller", "network configuration: not valid JSON", { cause });
    }
}

function parseMtu(reader: JsonReader): number | undefined {
    const mtu = reader.optionalInteger("mtu", 0, maxMtu);
    if (mtu === undefined || mtu === 0) return undefined;
    if (mtu < minMtu) throw reader.invalid("mtu", `must be 0 (not set) or from ${minMtu} to ${maxMtu}`);
    return mtu;
}

function parseIpam(reader: JsonReader): IpamConfig | undefined {
    const ipam = reader.optionalObject("ipam");
    // Templates that always write the key express "no IPAM" as an empty section.
    if (ipam === undefined || Object.keys(ipam.raw).length === 0) return undefined;
    return { type: ipam.text("type"), raw: ipam.raw };
}

function parsePrevResult(
    reader: JsonReader,
    version: CniVersion,
    badPrevResult: "refuse" | "drop",
): CniResult | undefined {
    const value = reader.get("prevResult");
    if (value === undefined) return undefined;
    try {
        return parseResult(value, { path: "prevResult", defaultVersion: version });
    } catch (error) {
        if (badPrevResult === "drop" && error instanceof CniCallError) return undefined;
        throw error;
    }
}

function parseAttachments(reader: JsonReader): readonly Attachment[] | undefined {
    const key = ["cni.dev/valid-attachments", "cni.dev/attachments"].find((name) => reader.get(name) !== undefined);
    if (key === undefined) return undefined;
    return reader.objects(key).map((attachment) => {
        const containerId = attachment.text("containerID");
        const idFault = containerIdFault(containerId);
        if (idFault !== undefined) throw attachment.invalid("containerID", idFault);
        const ifname = attachment.text("ifname");
        const nameFault = ifnameFault(ifname);
        if (nameFault !== undefined) throw attachment.invalid("ifname", nameFault);
        return { containerId, ifname };
    });
}

/**
 * The `cniVersion` of a configuration, without any check: for the error object about a configuration that may itself be
 * wrong. Undefined if it cannot be read.
 */
export function peekCniVersion(input: Uint8Array): string | undefined {
    try {
        const value: unknown = JSON.parse(new TextDecoder().decode(input));
        const version = isJsonObject(value) ? value["cniVersion"] : undefined;
        return typeof version === "string" ? version : undefined;
    } catch {
        return undefined;
    }
}
