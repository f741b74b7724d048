import { AntreaError } from "@antrea/errors";
import { isKubeError, networkAttachmentDefinitions } from "@antrea/kube";
import {
    antreaIpamType,
    networksAnnotation,
    parseIpamSection,
    parseNetwork,
    parseSelections,
    type ForeignNetwork,
    type IpamSection,
    type NetworkDefinition,
    type NetworkSelection,
    type OwnNetwork,
} from "@antrea/networks";
import { type Cluster, type Gate, type PodInfo } from "../cluster/index.ts";
import { blockOf, type Block } from "./block.ts";

/** A network whose interface another plugin makes, with addresses of Antrea; `network` is `namespace/name`. */
export interface DelegatedNetwork {
    readonly kind: "delegated";
    readonly network: string;
    /** The type of its first plugin. */
    readonly type: string;
    readonly ipam: IpamSection;
    /** Whether requested addresses reach the plugin: it has the capability `ips`. */
    readonly takesIps: boolean;
}

/** A network that cannot be read; `isForbidden`: only by the user of antctl. */
export interface UnreadNetwork {
    readonly kind: "unread";
    readonly network: string;
    readonly isForbidden: boolean;
    readonly problem: Block;
}

/** A network that the Pod requests, and its NetworkAttachmentDefinition. */
export interface RequestedNetwork {
    readonly selection: NetworkSelection;
    /** The requested name of the interface, else that which antrea-agent, or for other types Multus, usually chooses. */
    readonly ifName: string;
    /** The names by which allocations may have it. */
    readonly names: readonly string[];
    readonly network: OwnNetwork | DelegatedNetwork | ForeignNetwork | UnreadNetwork;
}

/** The networks that the Pod requests by its annotation `networksAnnotation`. */
export interface NetworkFacts {
    /** SecondaryNetwork. */
    readonly gate: Gate;
    /** Why the annotation cannot be read. */
    readonly problem: Block | undefined;
    readonly requested: readonly RequestedNetwork[];
}

/**
 * Reads the annotation of a Pod, and each NetworkAttachmentDefinition that it names; a missing one, and one that the user
 * may not read, is a problem of the network. Undefined without annotation. Any other KubeError rejects.
 */
export async function readNetworks(
    cluster: Pick<Cluster, "find">,
    pod: Pick<PodInfo, "annotations" | "namespace">,
    gate: () => Promise<Gate>,
): Promise<NetworkFacts | undefined> {
    const text = pod.annotations[networksAnnotation]?.trim() ?? "";
    if (text === "") return undefined;
    const selections = settled(() => parseSelections(text, pod.namespace), "correct the annotation");
    if ("problem" in selections) return { gate: await gate(), problem: selections.problem, requested: [] };
    const requested = selections.value.map(async (selection, index) => {
        const found = await readDefinition(cluster, selection);
        const network = "kind" in found ? found : readNetwork(found);
        const names = [`${selection.namespace}/${selection.name}`, selection.name];
        if (!("kind" in found)) names.push(cniNameOf(found));
        const isNamed = network.kind === "vlan" || network.kind === "sriov" || namesInterface(text, index);
        return { selection, network, names, ifName: isNamed ? selection.interfaceName : `net${index + 1}` };
    });
    return { gate: await gate(), problem: undefined, requested: await Promise.all(requested) };
}

async function readDefinition(
    cluster: Pick<Cluster, "find">,
    { namespace, name }: NetworkSelection,
): Promise<NetworkDefinition | UnreadNetwork> {
    const network = `${namespace}/${name}`;
    const unread = (isForbidden: boolean, what: string, next: string): UnreadNetwork => ({
        kind: "unread",
        network,
        isForbidden,
        problem: { what: `network ${network}: ${what}`, next },
    });
    try {
        const found = await cluster.find(networkAttachmentDefinitions, { namespace, name });
        if (found !== undefined) {
            return { namespace, name, annotations: found.metadata?.annotations ?? {}, config: found.spec?.config };
        }
        return unread(
            false,
            "there is no NetworkAttachmentDefinition of this name, or their CustomResourceDefinition (k8s.cni.cncf.io/v1) is not installed",
            "create it, or correct the annotation",
        );
    } catch (error) {
        if (!isKubeError(error, "FORBIDDEN")) throw error;
        return unread(
            true,
            "you may not read its NetworkAttachmentDefinition",
            "get the permissions of docs/antctl.md",
        );
    }
}

function readNetwork(definition: NetworkDefinition): RequestedNetwork["network"] {
    const network = `${definition.namespace}/${definition.name}`;
    const next = "correct spec.config of the NetworkAttachmentDefinition";
    const read = settled(() => {
        const parsed = parseNetwork(definition);
        return parsed.kind === "foreign" ? (delegatedOf(definition, parsed) ?? parsed) : parsed;
    }, next);
    if ("value" in read) return read.value;
    const { what } = read.problem;
    const named = what.startsWith(`network ${network}: `) ? what : `network ${network}: ${what}`;
    return { kind: "unread", network, isForbidden: false, problem: { ...read.problem, what: named } };
}

/** Throws CniCallError for an invalid IPAM section. */
function delegatedOf(definition: NetworkDefinition, { network, type }: ForeignNetwork): DelegatedNetwork | undefined {
    const document = documentOf(definition);
    const plugins: readonly unknown[] = Array.isArray(document["plugins"]) ? document["plugins"] : [document];
    for (const plugin of plugins) {
        const { ipam, capabilities } = recordOf(plugin);
        const section = recordOf(ipam);
        if (section["type"] !== antreaIpamType) continue;
        const takesIps = recordOf(capabilities)["ips"] === true;
        return { kind: "delegated", network, type, ipam: parseIpamSection(section), takesIps };
    }
    return undefined;
}

/** The name of the CNI network, by which the allocations of other plugins have it. */
function cniNameOf(definition: NetworkDefinition): string {
    const { name } = documentOf(definition);
    return typeof name === "string" && name !== "" ? name : definition.name;
}

function documentOf({ config }: NetworkDefinition): Readonly<Record<string, unknown>> {
    try {
        return recordOf(JSON.parse(config ?? ""));
    } catch {
        // parseNetwork reports it.
        return {};
    }
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
}

/** Whether the element of a valid annotation requests a name for its interface. */
function namesInterface(text: string, index: number): boolean {
    if (!text.startsWith("[")) return text.split(",")[index]?.includes("@") === true;
    const elements = JSON.parse(text) as readonly unknown[];
    return (recordOf(elements[index])["interface"] ?? undefined) !== undefined;
}

/** The result of a parser, or the problem that its error is. */
function settled<Value>(parse: () => Value, next: string): { readonly value: Value } | { readonly problem: Block } {
    try {
        return { value: parse() };
    } catch (error) {
        if (!(error instanceof AntreaError) || error.fault === "internal") throw error;
        return { problem: blockOf(error.message, next) };
    }
}
