import { namespaceFault, objectNameFault } from "./names.ts";
import { type NetworkSelection } from "./network-selection.ts";
import { refused } from "./refused-selection.ts";
import { gatewayOf, interfaceOf, ipOf, listOf, macOf } from "./selection-fields.ts";

/** A requested network as written: its interface may have no name yet. */
export interface Draft extends Omit<NetworkSelection, "interfaceName"> {
    /** The path of the element in messages. */
    readonly path: string;
    readonly interfaceName: string | undefined;
}

const fieldsInEffect: ReadonlySet<string> = new Set(["name", "namespace", "interface", "mac", "ips", "default-route"]);

/** `namespace/name@interface` */
export function shortForm(item: string, path: string, podNamespace: string): Draft {
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

/** Reads an element in the form of a JSON object. Throws `NetworkError` `INVALID_SELECTION`. */
export function draftOf(element: unknown, path: string, podNamespace: string): Draft {
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
