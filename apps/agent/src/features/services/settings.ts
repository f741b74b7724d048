import type { ServiceSettings } from "@antrea/services";
import type { NodePlatform } from "../../platform/node-platform.ts";

/** What the configuration and the Node decide about Services. */
export function settingsOf({
    config: { antreaProxy },
    datapath,
    environment,
    gates,
    node,
}: Pick<NodePlatform, "config" | "datapath" | "environment" | "gates" | "node">): ServiceSettings {
    const { proxyAll, proxyLoadBalancerIPs, serviceProxyName, skipServices, defaultLoadBalancerMode } = antreaProxy;
    return {
        nodeName: environment.nodeName,
        families: node.podPrefixes.map(({ family }) => family),
        proxyAll,
        proxyLoadBalancerIps: proxyLoadBalancerIPs,
        serviceProxyName,
        skipServices,
        defaultLoadBalancerMode,
        dsr: gates.enabled("LoadBalancerModeDSR"),
        nodeHints: gates.enabled("PreferSameTrafficDistribution"),
        sctp: datapath.type === "system",
    };
}
