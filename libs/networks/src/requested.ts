import { CniCallError, shown, type CniArgs, type NetworkConfig } from "@antrea/cni";
import { IpError, parseIp, prefixContains, prefixOf, type IpAddress } from "@antrea/ip";
import { type IpamSection } from "./ipam-section.ts";
import { parseRequestedIp, type RequestedIp } from "./requested-ip.ts";

/** Where an address of a call comes from, for messages: the field that has it. */
export type AddressSource = "ipam.addresses" | "CNI_ARGS" | "args.cni.ips" | "runtimeConfig.ips" | "ips";

/** An address that a call requests, or that its configuration lists; `gateway` is undefined if it has none. */
export interface WantedAddress extends RequestedIp {
    readonly gateway: IpAddress | undefined;
    /** Undefined: that of the list. */
    readonly source?: AddressSource | undefined;
}

/** The addresses of a call beside those that IPPools choose; may be empty. */
export interface WantedAddresses {
    /** In the order of the result. */
    readonly addresses: readonly WantedAddress[];
    /** Of those that have none of their own. */
    readonly source: AddressSource;
}

/**
 * The addresses of a delegated call, with the precedence of the plugin `static` of the CNI project: those of CNI_ARGS
 * (`IP`, and `GATEWAY` for each address whose subnet contains it, lists joined by commas) follow the ones in the
 * section; a list `args.cni.ips` replaces them all, and a list `runtimeConfig.ips` these, unless it is empty. Unlike
 * there an address may lack its prefix length, which an IPPool must then provide. Throws `CniCallError`
 * INVALID_NETWORK_CONFIG or, for CNI_ARGS, INVALID_ENVIRONMENT_VARIABLES with field, value and rule.
 */
export function wantedAddresses(
    section: IpamSection,
    { args, config }: { readonly args: CniArgs; readonly config: NetworkConfig },
): WantedAddresses {
    const byRuntime = textsAt(config.runtimeConfig, ["ips"], "runtimeConfig.ips");
    if (byRuntime.length > 0)
        return { addresses: byRuntime.map(parsed("runtimeConfig.ips")), source: "runtimeConfig.ips" };
    const byArgs = textsAt(config.raw["args"], ["cni", "ips"], "args.cni.ips");
    if (byArgs.length > 0) return { addresses: byArgs.map(parsed("args.cni.ips")), source: "args.cni.ips" };
    const added = itemsOf(args.all.get("IP")).map(parsed("CNI_ARGS.IP"));
    const gateways = itemsOf(args.all.get("GATEWAY")).map(parsedGateway);
    if (added.length === 0) return { addresses: section.addresses, source: "ipam.addresses" };
    const listed = section.addresses.map((address): WantedAddress => ({ ...address, source: "ipam.addresses" }));
    return { addresses: [...listed, ...added.map((address) => withGateway(address, gateways))], source: "CNI_ARGS" };
}

function itemsOf(text = ""): readonly string[] {
    return text === "" ? [] : text.split(",").map((item) => item.trim());
}

/** The list of texts at a path of a document; empty if it, or an object on the way, is absent. */
function textsAt(document: unknown, path: readonly string[], field: string): readonly string[] {
    let value = document;
    for (const key of path) {
        if (value === undefined || value === null) return [];
        if (typeof value !== "object" || Array.isArray(value))
            throw invalidConfig(field, value, "must be a list of addresses");
        value = Object.hasOwn(value, key) ? (value as Readonly<Record<string, unknown>>)[key] : undefined;
    }
    if (value === undefined || value === null) return [];
    if (Array.isArray(value) && value.every((item): item is string => typeof item === "string")) return value;
    throw invalidConfig(field, value, "must be a list of addresses");
}

function parsed(field: string): (text: string) => WantedAddress {
    return (text) => {
        const { ip, prefixLength } = checked(field, text, () => parseRequestedIp(text));
        return { ip, prefixLength, gateway: undefined };
    };
}

function parsedGateway(text: string): IpAddress {
    return checked("CNI_ARGS.GATEWAY", text, () => parseIp(text));
}

function withGateway(address: WantedAddress, gateways: readonly IpAddress[]): WantedAddress {
    const { ip, prefixLength } = address;
    if (prefixLength === undefined) return address;
    const subnet = prefixOf(ip, prefixLength);
    // the plugin static overwrites it with each that fits
    const gateway = gateways.findLast((one) => one.family === ip.family && prefixContains(subnet, one));
    return { ip, prefixLength, gateway };
}

function checked<Value>(field: string, text: string, parse: () => Value): Value {
    try {
        return parse();
    } catch (error) {
        if (!(error instanceof IpError)) throw error;
        throw invalidConfig(field, text, `is refused: ${error.message}`);
    }
}

function invalidConfig(field: string, value: unknown, rule: string): CniCallError {
    const code = field.startsWith("CNI_ARGS") ? "INVALID_ENVIRONMENT_VARIABLES" : "INVALID_NETWORK_CONFIG";
    return new CniCallError(code, "caller", `${field}: ${shown(value)} ${rule}`);
}
