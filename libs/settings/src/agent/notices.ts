import { type FeatureGates } from "../features/gates.ts";
import { type Notice } from "../load.ts";
import { agentUnserved, unservedNotices } from "../unserved.ts";
import { usualHealthAddress } from "./groups.ts";
import { agentSchema, type AgentConfig } from "./schema.ts";

/** Warnings about values of antrea-agent.conf that are valid but have no effect or are not for production. */
export const agentNotices: readonly Notice<AgentConfig>[] = [
    ...unservedNotices<AgentConfig>(agentSchema, agentUnserved),
    {
        check: ({ enableBridgingMode, ovsDatapathType }) =>
            enableBridgingMode && ovsDatapathType === "netdev"
                ? "enableBridgingMode with ovsDatapathType netdev is for trials: all traffic of the Node passes a process in userspace; use system in production"
                : undefined,
    },
    { check: withoutProxy },
    {
        check: ({ antreaProxy: { nodePortAddresses, proxyAll: isAll } }) =>
            nodePortAddresses.length > 0 && !isAll
                ? "antreaProxy.nodePortAddresses has no effect without antreaProxy.proxyAll: set --nodeport-addresses of kube-proxy"
                : undefined,
    },
    {
        check: ({ antreaProxy: { proxyAll: isAll, serviceHealthCheckServerBindAddress } }) =>
            isAll || serviceHealthCheckServerBindAddress === usualHealthAddress
                ? undefined
                : "antreaProxy.serviceHealthCheckServerBindAddress has no effect without antreaProxy.proxyAll: set --healthz-bind-address of kube-proxy",
    },
    {
        check: ({ secondaryNetwork }, gates) => {
            const isOn = gates.enabled("SecondaryNetwork");
            const isEmpty = secondaryNetwork.ovsBridges.length === 0;
            if (isOn && isEmpty)
                return "featureGates.SecondaryNetwork has no effect on VLAN networks without secondaryNetwork.ovsBridges: Pods that request one do not start";
            return !isOn && !isEmpty
                ? "secondaryNetwork.ovsBridges has no effect: the feature gate SecondaryNetwork is off"
                : undefined;
        },
    },
];

/** Settings of AntreaProxy that somebody has changed although it is off. */
function withoutProxy(
    { antreaProxy: { enable, proxyLoadBalancerIPs, skipServices, serviceProxyName } }: AgentConfig,
    gates: FeatureGates,
): string | undefined {
    const isGateOn = gates.enabled("AntreaProxy");
    if (enable && isGateOn) return undefined;
    const changed = [
        ...(proxyLoadBalancerIPs ? [] : ["proxyLoadBalancerIPs"]),
        ...(skipServices.length === 0 ? [] : ["skipServices"]),
        ...(serviceProxyName === "" ? [] : ["serviceProxyName"]),
    ].map((key) => `antreaProxy.${key}`);
    if (changed.length === 0) return undefined;
    const why = isGateOn ? "antreaProxy.enable is false" : "the feature gate AntreaProxy is off";
    return `${changed.join(", ")}: no effect: ${why}, and kube-proxy serves all Services`;
}
