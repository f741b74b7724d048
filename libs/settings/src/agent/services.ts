import { type FeatureGates } from "../features/gates.ts";
import { type AgentConfig } from "./schema.ts";

/** The part of a valid antrea-agent.conf that decides about Services. */
export interface ServicesConfig {
    readonly config: Pick<AgentConfig, "antreaProxy">;
    readonly gates: Pick<FeatureGates, "enabled">;
}

/** What the configuration decides about the Services that OVS serves; see `ServiceSettings` of libs/services. */
export interface ConfiguredServices {
    readonly proxyAll: boolean;
    readonly proxyLoadBalancerIps: boolean;
    readonly serviceProxyName: string;
    readonly skipServices: readonly string[];
    readonly defaultLoadBalancerMode: "nat" | "dsr";
    readonly dsr: boolean;
    readonly nodeHints: boolean;
}

/** Whether OVS serves Services. */
export function servesServices({ config, gates }: ServicesConfig): boolean {
    return gates.enabled("AntreaProxy") && config.antreaProxy.enable;
}

/** Returns what the configuration decides about the Services that OVS serves. */
export function configuredServices({ config: { antreaProxy }, gates }: ServicesConfig): ConfiguredServices {
    const { proxyAll, proxyLoadBalancerIPs, serviceProxyName, skipServices, defaultLoadBalancerMode } = antreaProxy;
    return {
        proxyAll,
        proxyLoadBalancerIps: proxyLoadBalancerIPs,
        serviceProxyName,
        skipServices,
        defaultLoadBalancerMode,
        dsr: gates.enabled("LoadBalancerModeDSR"),
        nodeHints: gates.enabled("PreferSameTrafficDistribution"),
    };
}
