import type { ServiceSettings } from "@antrea/services";
import type { NodePlatform } from "../../platform/node-platform.ts";

/** What the configuration and the Node decide about Services. */
export function settingsOf({
    config: { antreaProxy },
    datapath,
    environment,
    gates,
    node,
    servesNode,
}: Pick<NodePlatform, "config" | "datapath" | "environment" | "gates" | "node" | "servesNode">): ServiceSettings {
    const { proxyLoadBalancerIPs, serviceProxyName, skipServices, defaultLoadBalancerMode } = antreaProxy;
    return {
        nodeName: environment.nodeName,
        families: node.podPrefixes.map(({ family }) => family),
        proxyAll: servesNode,
        proxyLoadBalancerIps: proxyLoadBalancerIPs,
        serviceProxyName,
        skipServices,
        defaultLoadBalancerMode,
        dsr: gates.enabled("LoadBalancerModeDSR"),
        nodeHints: gates.enabled("PreferSameTrafficDistribution"),
        sctp: datapath.type === "system",
    };
}
