import { type Notice, type Rule } from "../load.ts";
import { type AgentConfig } from "./schema.ts";

const here = "not available in this version";
const bridging = "with enableBridgingMode";

export const agentRules: readonly Rule<AgentConfig>[] = [
    {
        keys: ["trafficEncapMode"],
        check: ({ trafficEncapMode }) =>
            trafficEncapMode === "networkPolicyOnly"
                ? { key: "trafficEncapMode", rule: `${here}; use encap, noEncap or hybrid` }
                : undefined,
    },
    {
        keys: ["tunnelPort", "tunnelType"],
        check: ({ tunnelPort, tunnelType }) =>
            tunnelPort !== 0 && tunnelType === "gre"
                ? { key: "tunnelPort", rule: "must be 0 with tunnelType gre, which has no ports" }
                : undefined,
    },
    {
        keys: ["noSNAT", "trafficEncapMode"],
        check: ({ noSNAT, trafficEncapMode }) =>
            !noSNAT || trafficEncapMode === "noEncap" || trafficEncapMode === "networkPolicyOnly"
                ? undefined
                : { key: "noSNAT", rule: "must be false unless trafficEncapMode is noEncap or networkPolicyOnly" },
    },
    {
        keys: ["trafficEncryptionMode"],
        check: ({ trafficEncryptionMode }) =>
            trafficEncryptionMode === "none" ? undefined : { key: "trafficEncryptionMode", rule: `${here}; use none` },
    },
    {
        keys: ["enableBridgingMode", "featureGates"],
        check: ({ enableBridgingMode }, gates) =>
            enableBridgingMode && !gates.enabled("AntreaIPAM")
                ? { key: "featureGates.AntreaIPAM", rule: `must be true ${bridging}, which is for Pods of IPPools` }
                : undefined,
    },
    {
        keys: ["enableBridgingMode", "trafficEncapMode"],
        check: ({ enableBridgingMode, trafficEncapMode }) =>
            enableBridgingMode && trafficEncapMode !== "noEncap"
                ? { key: "trafficEncapMode", rule: `must be noEncap ${bridging}: bridged Pods are not in tunnels` }
                : undefined,
    },
    {
        keys: ["enableBridgingMode", "noSNAT"],
        check: ({ enableBridgingMode, noSNAT }) =>
            enableBridgingMode && !noSNAT
                ? { key: "noSNAT", rule: `must be true ${bridging}: the network must know the podCIDRs` }
                : undefined,
    },
    {
        keys: ["nodeType"],
        check: ({ nodeType }) =>
            nodeType === "k8sNode" ? undefined : { key: "nodeType", rule: `${here}; use k8sNode` },
    },
    {
        keys: ["hostGateway", "ovsBridge"],
        check: ({ hostGateway, ovsBridge }) =>
            hostGateway === ovsBridge ? { key: "hostGateway", rule: "must differ from ovsBridge" } : undefined,
    },
    {
        keys: ["secondaryNetwork.ovsBridges", "ovsBridge"],
        check: ({ secondaryNetwork, ovsBridge }) =>
            secondaryNetwork.ovsBridges.some(({ bridgeName }) => bridgeName === ovsBridge)
                ? { key: "secondaryNetwork.ovsBridges", rule: "must not name the bridge of ovsBridge" }
                : undefined,
    },
    {
        keys: ["multicluster"],
        check: ({ multicluster }) =>
            multicluster.enableStretchedNetworkPolicy && !multicluster.enableGateway && multicluster.enable !== true
                ? { key: "multicluster.enableStretchedNetworkPolicy", rule: "needs multicluster.enableGateway" }
                : undefined,
    },
    {
        keys: ["externalNode.policyBypassRules"],
        check: ({ externalNode }) =>
            externalNode.policyBypassRules.some(
                ({ protocol, port }) => (protocol === "tcp" || protocol === "udp") && port === undefined,
            )
                ? { key: "externalNode.policyBypassRules", rule: "must have a port where the protocol is tcp or udp" }
                : undefined,
    },
];

/** Switches of features that are not there yet: allowed, for a file may serve a later version too, but said. */
const withoutEffect: readonly [key: string, isOn: (config: AgentConfig) => boolean][] = [
    ["flowExporter.enable", ({ flowExporter }) => flowExporter.enable],
    ["nodePortLocal.enable", ({ nodePortLocal }) => nodePortLocal.enable],
    ["multicast.enable", ({ multicast }) => multicast.enable],
    ["antreaProxy.proxyAll", ({ antreaProxy }) => antreaProxy.proxyAll],
    ["multicluster.enable", ({ multicluster }) => multicluster.enable ?? false],
    ["multicluster.enableGateway", ({ multicluster }) => multicluster.enableGateway],
    ["secondaryNetwork.ovsBridges", ({ secondaryNetwork }) => secondaryNetwork.ovsBridges.length > 0],
];

export const agentNotices: readonly Notice<AgentConfig>[] = [
    ...withoutEffect.map(([key, isOn]) => ({
        check: (config: AgentConfig) => (isOn(config) ? `${key} has no effect: the feature is ${here}` : undefined),
    })),
    {
        check: ({ enableBridgingMode, ovsDatapathType }) =>
            enableBridgingMode && ovsDatapathType === "netdev"
                ? "enableBridgingMode with ovsDatapathType netdev is for trials: all traffic of the Node passes a process in userspace; use system in production"
                : undefined,
    },
];
