import { loadAgentConfig, SettingsError, type AgentConfig, type Loaded } from "@antrea/settings";
import { readAgentConfig, type Cluster, type PodInfo } from "../cluster/index.ts";
import { CliError } from "../errors.ts";
import { oneLine } from "../output/index.ts";

interface Settings {
    readonly loaded: Loaded<AgentConfig>;
    readonly assumptions: readonly string[];
}

/** Reads the settings of the agents; where they cannot be read or used, the defaults, with an assumption that gives the cause. */
export async function readSettings(cluster: Pick<Cluster, "find">, agent: PodInfo | undefined): Promise<Settings> {
    const read = await readAgentConfig(cluster, agent?.namespace ?? "kube-system");
    const byDefault = (reason: string): Settings => ({
        loaded: loadAgentConfig(""),
        assumptions: [`The settings of the agents are taken to be the defaults: ${reason}.`],
    });
    if (!("text" in read)) return byDefault(read.reason);
    try {
        return { loaded: loadAgentConfig(read.text), assumptions: [] };
    } catch (error) {
        if (!(error instanceof SettingsError)) throw error;
        return byDefault(`this version of antctl cannot use theirs: ${oneLine(error.message)}`);
    }
}

/** The error for agents whose settings leave all Services to kube-proxy. */
export function notServing({ gates }: Loaded<AgentConfig>): CliError {
    const [why, next] = gates.enabled("AntreaProxy")
        ? ["antreaProxy.enable is false", "set antreaProxy.enable to true in the values of the chart"]
        : ["the feature gate AntreaProxy is off", "set featureGates.AntreaProxy to true in the values of the chart"];
    return new CliError(
        "IGNORED",
        "environment",
        `AntreaProxy serves no Service, because ${why}; kube-proxy does`,
        next,
    );
}
