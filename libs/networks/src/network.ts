import { messageOf } from "@antrea/errors";
import {
    CniCallError,
    isJsonObject,
    parseNetworkConfig,
    routeDestination,
    type JsonObject,
    type NetworkConfig,
} from "@antrea/cni";
import type { Family } from "@antrea/ip";
import { fault, NetworkError } from "./error.ts";
import { ignoredBesidePlugins, ignoredKeysOf } from "./ignored-keys.ts";
import { antreaIpamType, parseIpamSection, type IpamSection } from "./ipam-section.ts";
import { ipv6MtuFault } from "./mtu.ts";

/** A NetworkAttachmentDefinition (k8s.cni.cncf.io/v1), as far as it is read. */
export interface NetworkDefinition {
    readonly namespace: string;
    readonly name: string;
    readonly annotations: Readonly<Record<string, string>>;
    /** `spec.config`, the text of a network configuration; undefined if absent. */
    readonly config: string | undefined;
}

/**
 * A network whose interfaces this project makes: of kind `vlan` in a VLAN of the physical network, or untagged; of kind
 * `sriov` virtual functions of a NIC.
 */
export interface OwnNetwork {
    readonly kind: "vlan" | "sriov";
    /** `namespace/name`. */
    readonly network: string;
    /** In bytes; undefined: that of the NIC, at most 1500. */
    readonly mtu: number | undefined;
    /** 1 to 4094, which wins over that of the IPPools; undefined: theirs, or none. */
    readonly vlan: number | undefined;
    /** Name of the resource whose devices are the interfaces; of kind `sriov` only, undefined for `networkOfCall`. */
    readonly resourceName: string | undefined;
    /** The device that a meta plugin names for the interface; of kind `sriov` only, set by `networkOfCall` alone. */
    readonly deviceId: string | undefined;
    /** Undefined: the interfaces have no address. */
    readonly ipam: IpamSection | undefined;
    /** The keys of the configuration that have no effect, for `keysText`: `vlanId`, `ipam.range`. */
    readonly ignored: readonly string[];
}

/** A network of another plugin, which is not checked any further; `network` is `namespace/name`. */
export interface ForeignNetwork {
    readonly kind: "foreign";
    readonly network: string;
    /** The type of its first plugin. */
    readonly type: string;
}

/** Annotation with the resource of a device plugin, as intel.com/sriov_net_a; required for the kind `sriov`. */
export const resourceNameAnnotation = "k8s.v1.cni.cncf.io/resourceName";

const pluginType = "antrea";
const maxVlan = 4094;
/** RT_TABLE_MAIN of rtnetlink(7). */
const mainTable = 254;

/**
 * Parses a NetworkAttachmentDefinition. Its configuration may be that of one plugin, or a list: of one plugin for a
 * network of this project, of any number for a foreign one, whose type is that of the first. A missing `name` is that
 * of the object. Throws NetworkError `INVALID_NETWORK` with network, field, value, rule and next step.
 */
export function parseNetwork(definition: NetworkDefinition): OwnNetwork | ForeignNetwork {
    const network = `${definition.namespace}/${definition.name}`;
    const { plugin: document, ignored } = pluginOf(definition, network);
    if (document["type"] !== pluginType) {
        if (typeof document["type"] === "string" && document["type"] !== "") {
            return { kind: "foreign", network, type: document["type"] };
        }
        throw refused(network, "type", document["type"], "must name a plugin", `write "type": "${pluginType}"`);
    }
    const parsed = ownNetwork(configOf(document, network), network);
    const own = { ...parsed, ignored: [...ignored, ...parsed.ignored] };
    if (own.kind !== "sriov") return own;
    const resourceName = definition.annotations[resourceNameAnnotation]?.trim() ?? "";
    if (resourceName !== "") return { ...own, resourceName };
    const next = "set the annotation to the resource of the device plugin, as intel.com/sriov_net_a";
    throw refused(network, `annotation ${resourceNameAnnotation}`, resourceName, "is missing", next);
}

/**
 * The network that a CNI call for one interface carries in its configuration. A meta plugin read the
 * NetworkAttachmentDefinition, whose Namespace and annotations are not known: it is named by the Pod's Namespace and the name
 * in the configuration. Throws as `parseNetwork`.
 */
export function networkOfCall(config: NetworkConfig, podNamespace: string): OwnNetwork {
    const network = `${podNamespace}/${config.name}`;
    const own = ownNetwork({ config, ipam: ipamOf(config, network) }, network);
    return own.kind === "sriov" ? { ...own, deviceId: deviceIdOf(config, network) } : own;
}

/** Meta plugins write it by the annotation `resourceNameAnnotation` of the network. */
function deviceIdOf({ raw }: NetworkConfig, network: string): string | undefined {
    const value = raw["deviceID"] ?? undefined;
    if (value === undefined || (typeof value === "string" && value !== "")) return value;
    throw refused(network, "deviceID", value, "must be a text that is not empty", "let the meta plugin write it");
}

/** The plugin of a configuration, with what libcni adds to it, and the keys around it that have no effect. */
interface PluginPart {
    readonly plugin: JsonObject;
    readonly ignored: readonly string[];
}

function pluginOf({ config, name }: NetworkDefinition, network: string): PluginPart {
    if (config === undefined || config.trim() === "") {
        throw refused(network, "spec.config", config, "is empty", "write the network configuration as JSON text");
    }
    const document = parseJson(config, network);
    if (!Array.isArray(document["plugins"])) return { plugin: { name, ...document }, ignored: [] };
    const plugins: readonly unknown[] = document["plugins"];
    const objects = plugins.filter(isJsonObject);
    const [first] = objects;
    if (first === undefined || objects.length < plugins.length) {
        throw refused(network, "plugins", plugins, "must be a list of objects", "write one plugin in it");
    }
    if (plugins.length > 1 && objects.some(({ type }) => type === pluginType)) {
        const next = `keep the plugin of type "${pluginType}" alone`;
        throw refused(
            network,
            "plugins",
            objects.map(({ type }) => type),
            "has more than one plugin",
            next,
        );
    }
    const cniVersion = document["cniVersion"] ?? first["cniVersion"];
    return {
        plugin: { ...first, name: document["name"] ?? name, cniVersion },
        ignored: ignoredBesidePlugins(document),
    };
}

function parseJson(config: string, network: string): JsonObject {
    let value: unknown;
    try {
        value = JSON.parse(config);
    } catch (error) {
        const rule = `is not valid JSON (${messageOf(error)})`;
        throw refused(network, "spec.config", config, rule, "write a JSON object");
    }
    if (isJsonObject(value)) return value;
    throw refused(network, "spec.config", value, "is not a JSON object", "write a JSON object");
}

function configOf(document: JsonObject, network: string): { config: NetworkConfig; ipam: IpamSection | undefined } {
    const text = textOf(document, network);
    const config = named(network, () => parseNetworkConfig(text));
    return { config, ipam: ipamOf(config, network) };
}

function textOf(document: JsonObject, network: string): string {
    try {
        return JSON.stringify(document);
    } catch {
        // JSON.parse accepts any depth; JSON.stringify needs stack for each level.
        throw refused(network, "spec.config", document, "cannot be read", "write fewer levels");
    }
}

function ipamOf({ ipam }: NetworkConfig, network: string): IpamSection | undefined {
    return ipam?.type === antreaIpamType ? named(network, () => parseIpamSection(ipam.raw)) : undefined;
}

/** Runs a parser of the CNI configuration and names the network in its errors. */
function named<T>(network: string, parse: () => T): T {
    try {
        return parse();
    } catch (error) {
        if (!(error instanceof CniCallError)) throw error;
        throw new NetworkError(
            "INVALID_NETWORK",
            "caller",
            `network ${network}: ${error.message}; next: correct spec.config of the NetworkAttachmentDefinition`,
            { details: { network } },
        );
    }
}

function ownNetwork(
    { config, ipam }: { readonly config: NetworkConfig; readonly ipam: IpamSection | undefined },
    network: string,
): OwnNetwork {
    const kind = config.raw["networkType"] ?? undefined;
    if (kind !== "vlan" && kind !== "sriov") {
        throw refused(network, "networkType", kind, "is not supported", 'write "vlan" or "sriov"');
    }
    if (config.ipam !== undefined && ipam === undefined) {
        const next = `write "${antreaIpamType}", or remove ipam for interfaces without address`;
        throw refused(network, "ipam.type", config.ipam.type, "gives no addresses to networks of Antrea", next);
    }
    if (ipam !== undefined && ipam.ippools.length === 0 && ipam.addresses.length === 0) {
        const next = "name an IPPool in ipam.ippools, write an address in ipam.addresses, or remove ipam";
        throw refused(network, "ipam", config.ipam?.raw, "has neither IPPools nor addresses", next);
    }
    refuseRouteKeys(ipam, network);
    refuseSecondDefault(ipam, network);
    const mtu = config.mtu;
    const lowMtu = mtu === undefined || !hasIpv6(ipam) ? undefined : ipv6MtuFault(mtu);
    if (lowMtu !== undefined) throw refused(network, "mtu", mtu, lowMtu.rule, lowMtu.next);
    const ignored = [...ignoredKeysOf(config.raw), ...(ipam?.ignored ?? []).map((key) => `ipam.${key}`)];
    const common = { network, mtu, ipam, ignored, resourceName: undefined, deviceId: undefined };
    const vlan = vlanOf(config.raw["vlan"] ?? undefined, network);
    if (kind === "vlan") return { kind, ...common, vlan: vlan === 0 ? undefined : vlan };
    if (vlan !== undefined) {
        const next = "remove it, and set the VLAN where the virtual function is made";
        throw refused(network, "vlan", vlan, "has no effect in a network of type sriov", next);
    }
    return { kind, ...common, vlan: undefined };
}

/** Refuses keys of routes that the agent would not set; 0 is "not set", as in the CNI. */
function refuseRouteKeys(ipam: IpamSection | undefined, network: string): void {
    for (const [index, route] of (ipam?.routes ?? []).entries()) {
        const { table = mainTable } = route;
        if (table !== mainTable && table !== 0) {
            const rule = "is refused, as the routes of a network of Antrea are in the main table";
            throw refused(network, `ipam.routes[${index}].table`, table, rule, "remove table");
        }
        for (const key of ["mtu", "advmss", "priority", "scope"] as const) {
            if ((route[key] ?? 0) === 0) continue;
            const rule = "is refused, as it has no effect on the routes of a network of Antrea";
            throw refused(network, `ipam.routes[${index}].${key}`, route[key], rule, `remove ${key}`);
        }
    }
}

/** A Pod has one default route of each family: a second one could have no effect. */
function refuseSecondDefault(ipam: IpamSection | undefined, network: string): void {
    const first = new Map<Family, number>();
    for (const [index, route] of (ipam?.routes ?? []).entries()) {
        const { family, length } = routeDestination(route);
        if (length > 0) continue;
        const other = first.get(family);
        if (other !== undefined) {
            const rule = `is a second default route of IPv${family}, after ipam.routes[${other}]`;
            throw refused(network, `ipam.routes[${index}].dst`, route.dst, rule, "keep one of them");
        }
        first.set(family, index);
    }
}

function vlanOf(value: unknown, network: string): number | undefined {
    if (value === undefined) return undefined;
    if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= maxVlan) return value;
    throw refused(network, "vlan", value, `must be a whole number from 0 to ${maxVlan}`, "correct it, or remove it");
}

function hasIpv6(ipam: IpamSection | undefined): boolean {
    return ipam?.addresses.some(({ ip }) => ip.family === 6) ?? false;
}

function refused(network: string, field: string, value: unknown, rule: string, next: string): NetworkError {
    const text = `network ${network}: ${fault(field, value, rule, next)}`;
    return new NetworkError("INVALID_NETWORK", "caller", text, { details: { network } });
}
