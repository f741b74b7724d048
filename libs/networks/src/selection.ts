import { ifnameFault } from "@antrea/cni";
import { messageOf } from "@antrea/errors";
import { formatIp, IpError, parseIp, type Family, type IpAddress } from "@antrea/ip";
import { fault, NetworkError } from "./error.ts";
import { interfaceMac } from "./mac.ts";
import { namespaceFault, objectNameFault } from "./names.ts";
import { parseRequestedIp, type RequestedIp } from "./requested-ip.ts";

/** The annotation by which a Pod requests networks (multi-network specification 1.3 of the Network Plumbing WG). */
export const networksAnnotation = "k8s.v1.cni.cncf.io/networks";

/** One network that a Pod requests, an element of the annotation. Whether the network exists is not checked. */
export interface NetworkSelection {
    /** Namespace of the NetworkAttachmentDefinition. */
    readonly namespace: string;
    readonly name: string;
    /** The interface in the Pod: the requested name, or else the first of eth1, eth2, … that none requests. */
    readonly interfaceName: string;
    /** "aa:bb:cc:dd:ee:ff" in lower case; undefined if none is requested. */
    readonly mac: string | undefined;
    /** The requested addresses, in order; empty if none is requested. */
    readonly ips: readonly RequestedIp[];
    /** Gateways, at most one of each family, to which the Pod's default route moves. */
    readonly defaultRoute: readonly IpAddress[];
    /** Keys of the element that have no effect, in its order. */
    readonly ignored: readonly string[];
}

interface Draft extends Omit<NetworkSelection, "interfaceName"> {
    /** The path of the element in messages. */
    readonly path: string;
    readonly interfaceName: string | undefined;
}

/** Limit of the networks of one annotation; more are `INVALID_SELECTION`. */
export const maxNetworks = 32;
const fieldsInEffect: ReadonlySet<string> = new Set(["name", "namespace", "interface", "mac", "ips", "default-route"]);
const reservedNames: ReadonlySet<string> = new Set(["eth0", "lo"]);

/**
 * Parses the annotation of a Pod in `podNamespace`: a JSON list of elements, or `name`, `namespace/name`, each with
 * `@interface` behind it if wanted, joined by commas. An empty text and an empty list request nothing. More than
 * `maxNetworks`, two with the same interface or MAC address, or two default routes of a family, are invalid, as are
 * eth0 and lo. Throws NetworkError `INVALID_SELECTION` for the first rule that is broken.
 */
export function parseSelections(text: string, podNamespace: string): readonly NetworkSelection[] {
    const drafts = draftsOf(text, podNamespace);
    if (drafts.length > maxNetworks) {
        throw refused("", drafts.length, `networks exceed the limit of ${maxNetworks}`, "request fewer networks");
    }
    checkUnique(drafts, "interface", ({ interfaceName }) => interfaceName);
    checkUnique(drafts, "mac", ({ mac }) => mac);
    checkDefaultRoutes(drafts);
    return named(drafts);
}

/**
 * Whether a Pod with this annotation may have an interface of the name: a requested one, one that `parseSelections` gives,
 * or net1, net2, … of Multus, which counts networks of its own settings too. True for all names if the annotation breaks
 * a rule, as it may be wrong temporarily.
 */
export function mayHaveInterface(text: string, podNamespace: string, name: string): boolean {
    try {
        const selections = parseSelections(text, podNamespace);
        if (selections.length > 0 && /^net[0-9]+$/.test(name)) return true;
        return selections.some(({ interfaceName }) => interfaceName === name);
    } catch (error) {
        if (error instanceof NetworkError) return true;
        throw error;
    }
}

function draftsOf(text: string, podNamespace: string): readonly Draft[] {
    const trimmed = text.trim();
    if (trimmed === "") return [];
    if (!trimmed.startsWith("[") && !trimmed.startsWith("{")) {
        return trimmed.split(",").map((item, index) => shortForm(item.trim(), `item ${index + 1}`, podNamespace));
    }
    const value = parseJson(trimmed);
    if (!Array.isArray(value)) {
        throw refused(
            "",
            text,
            "is neither a JSON list nor names joined by commas",
            'write [{"name": "net1"}] or net1',
        );
    }
    return value.map((element: unknown, index) => draftOf(withoutEmpty(element), `element ${index + 1}`, podNamespace));
}

/** Other readers of the annotation take an empty text for none. */
function withoutEmpty(element: unknown): unknown {
    if (typeof element !== "object" || element === null || Array.isArray(element)) return element;
    const optional = new Set(["namespace", "interface", "mac"]);
    return Object.fromEntries(Object.entries(element).filter(([key, value]) => value !== "" || !optional.has(key)));
}

function parseJson(text: string): unknown {
    try {
        return JSON.parse(text);
    } catch (error) {
        throw refused("", text, `is not valid JSON (${messageOf(error)})`, 'write [{"name": "net1"}] or net1');
    }
}

/** `namespace/name@interface` */
function shortForm(item: string, path: string, podNamespace: string): Draft {
    if (item === "") throw refused(path, item, "is empty", "remove the comma that is too many");
    const at = item.indexOf("@");
    const network = at < 0 ? item : item.slice(0, at);
    const slash = network.indexOf("/");
    return draftOf(
        {
            name: network.slice(slash + 1),
            namespace: slash < 0 ? undefined : network.slice(0, slash),
            interface: at < 0 ? undefined : item.slice(at + 1),
        },
        path,
        podNamespace,
    );
}

function draftOf(element: unknown, path: string, podNamespace: string): Draft {
    if (typeof element !== "object" || element === null || Array.isArray(element)) {
        throw refused(path, element, "must be a JSON object", 'write {"name": "net1"}');
    }
    const fields: Readonly<Record<string, unknown>> = { ...element };
    const field = (key: string): unknown => fields[key] ?? undefined;
    const namespace = field("namespace") ?? podNamespace;
    const namespaceRule = namespaceFault(namespace);
    if (namespaceRule !== undefined) {
        const next = "name the Namespace of the NetworkAttachmentDefinition, or leave it out for the Pod's own";
        throw refused(`${path}.namespace`, namespace, namespaceRule, next);
    }
    const nameRule = objectNameFault(field("name"));
    if (nameRule !== undefined) {
        throw refused(`${path}.name`, field("name"), nameRule, "name a NetworkAttachmentDefinition");
    }
    return {
        path,
        namespace: String(namespace),
        name: String(field("name")),
        interfaceName: interfaceOf(field("interface"), path),
        mac: macOf(field("mac"), path),
        ips: listOf(field("ips"), `${path}.ips`).map((ip, index) => ipOf(ip, `${path}.ips[${index}]`)),
        defaultRoute: listOf(field("default-route"), `${path}.default-route`).map((ip, index) =>
            gatewayOf(ip, `${path}.default-route[${index}]`),
        ),
        ignored: Object.keys(fields).filter((key) => fields[key] !== undefined && !fieldsInEffect.has(key)),
    };
}

function interfaceOf(value: unknown, path: string): string | undefined {
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

function macOf(value: unknown, path: string): string | undefined {
    if (value === undefined) return undefined;
    const field = `${path}.mac`;
    if (typeof value !== "string") {
        throw refused(field, value, "must be a string", "write a MAC address, as 02:00:00:00:00:01");
    }
    const read = interfaceMac(value);
    if ("mac" in read) return read.mac;
    throw refused(field, value, read.rule, read.next);
}

function ipOf(value: unknown, field: string): RequestedIp {
    const next = "write an address as 10.10.1.5, or with its prefix length as 10.10.1.5/24";
    if (typeof value !== "string") throw refused(field, value, "must be a string", next);
    return parsed(
        () => parseRequestedIp(value),
        (rule) => refused(field, value, rule, next),
    );
}

function gatewayOf(value: unknown, field: string): IpAddress {
    const next = "write the address of a gateway, as 10.10.1.1";
    if (typeof value !== "string") throw refused(field, value, "must be a string", next);
    return parsed(
        () => parseIp(value),
        (rule) => refused(field, value, rule, next),
    );
}

function listOf(value: unknown, field: string): readonly unknown[] {
    if (value === undefined) return [];
    if (!Array.isArray(value)) throw refused(field, value, "must be a list", 'write a list, as ["10.10.1.5"]');
    return value as readonly unknown[];
}

function checkUnique(drafts: readonly Draft[], key: string, valueOf: (draft: Draft) => string | undefined): void {
    const seen = new Map<string, string>();
    for (const draft of drafts) {
        const value = valueOf(draft);
        if (value === undefined) continue;
        const first = seen.get(value);
        if (first !== undefined) {
            const next = `change one of the two, or remove it`;
            throw refused(`${draft.path}.${key}`, value, `is requested by ${first} too`, next);
        }
        seen.set(value, draft.path);
    }
}

function checkDefaultRoutes(drafts: readonly Draft[]): void {
    const seen = new Map<Family, string>();
    for (const { path, defaultRoute } of drafts) {
        for (const gateway of defaultRoute) {
            const first = seen.get(gateway.family);
            if (first !== undefined) {
                const rule = `is a second default route of IPv${gateway.family}, after that of ${first}`;
                throw refused(`${path}.default-route`, formatIp(gateway), rule, "keep one of each family");
            }
            seen.set(gateway.family, path);
        }
    }
}

function named(drafts: readonly Draft[]): readonly NetworkSelection[] {
    const requested = new Set(drafts.map(({ interfaceName }) => interfaceName));
    let number = 0;
    const nextName = (): string => {
        do number += 1;
        while (requested.has(`eth${number}`));
        return `eth${number}`;
    };
    return drafts.map(({ namespace, name, interfaceName, mac, ips, defaultRoute, ignored }) => ({
        namespace,
        name,
        interfaceName: interfaceName ?? nextName(),
        mac,
        ips,
        defaultRoute,
        ignored,
    }));
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

function refused(path: string, value: unknown, rule: string, next: string): NetworkError {
    const field = path === "" ? `annotation ${networksAnnotation}` : `annotation ${networksAnnotation}, ${path}`;
    return new NetworkError("INVALID_SELECTION", "caller", fault(field, value, rule, next));
}
