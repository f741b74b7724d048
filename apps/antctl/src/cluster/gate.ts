import { configMaps, isKubeError } from "@antrea/kube";
import { documentValue, readFeatureGates } from "@antrea/settings";
import { parseDocument } from "yaml";
import { type Cluster } from "./cluster.ts";

/** State of a feature gate of the agents, by the cluster's configuration; `reason` is part of a sentence. */
export type Gate = { readonly state: "on" | "off" } | { readonly state: "unknown"; readonly reason: string };

/**
 * The feature gates that commands read: with `AntreaIPAM` agents evaluate the IPAM annotations, with `SecondaryNetwork`
 * they attach the networks that Pods request.
 */
type GateName = "AntreaIPAM" | "SecondaryNetwork";

/** Label selector of the agent Pods, in any Namespace. */
export const agentSelector = "app=antrea,component=antrea-agent";

const configMap = "antrea-config";
const agentConfig = "antrea-agent.conf";

/**
 * Reads a feature gate from the agents' ConfigMap `antrea-config`; `namespace` is Antrea's. It is `unknown` if there is
 * no such ConfigMap, the user may not read it, or it is no YAML; any other KubeError rejects.
 */
export async function readGate(
    cluster: Pick<Cluster, "find">,
    namespace: string,
    name: GateName = "AntreaIPAM",
): Promise<Gate> {
    const read = await readAgentConfig(cluster, namespace);
    return "text" in read ? gateIn(read.text, name) : unknown(read.reason);
}

/** The text of the agents' configuration file, or why it is not known, as part of a sentence. */
export type AgentConfigText = { readonly text: string } | { readonly reason: string };

/**
 * Reads antrea-agent.conf from the ConfigMap `antrea-config`; `namespace` is Antrea's. Rejects with any KubeError but
 * `FORBIDDEN`, which is a reason.
 */
export async function readAgentConfig(cluster: Pick<Cluster, "find">, namespace: string): Promise<AgentConfigText> {
    try {
        const map = await cluster.find(configMaps, { namespace, name: configMap });
        if (map === undefined) return { reason: `there is no ConfigMap ${namespace}/${configMap}` };
        return { text: map.data?.[agentConfig] ?? "" };
    } catch (error) {
        if (isKubeError(error, "FORBIDDEN")) return { reason: `you may not read ConfigMap ${namespace}/${configMap}` };
        throw error;
    }
}

/**
 * Reads a gate from the text of antrea-agent.conf: its default if not set, `unknown` if the text is no YAML. All
 * other settings are ignored.
 */
export function gateIn(text: string, name: GateName = "AntreaIPAM"): Gate {
    const read = documentValue(parseDocument(text));
    if (!read.isUsable) return unknown(`${agentConfig} is no YAML`);
    const config = (read.value ?? {}) as { readonly featureGates?: Readonly<Record<string, boolean>> | null };
    const { gates } = readFeatureGates("agent", config.featureGates ?? {});
    return { state: gates.enabled(name) ? "on" : "off" };
}

function unknown(reason: string): Gate {
    return { state: "unknown", reason };
}
