import { declared, type Condition, type RuleText } from "../condition.ts";
import { type Rule } from "../load.ts";
import { type AgentConfig } from "./schema.ts";

const here = "not available in this version";
const bridging = "with enableBridgingMode";

const proxyAll: Condition = { is: ["antreaProxy.proxyAll", true] };
const bridged: Condition = { is: ["enableBridgingMode", true] };
const mode = (name: "noEncap" | "networkPolicyOnly"): Condition => ({ is: ["trafficEncapMode", name] });

/**
 * Rules of antrea-agent.conf over several values, or over what this version supports, in the order of evaluation; those
 * made by `declared` also serve the chart, see `declaredRules`.
 */
export const agentRules: readonly Rule<AgentConfig>[] = [
    ...(
        [
            {
                key: "trafficEncapMode",
                rule: `${here}; use encap, noEncap or hybrid`,
                wrongWhen: mode("networkPolicyOnly"),
            },
            {
                key: "tunnelPort",
                rule: "must be 0 with tunnelType gre, which has no ports",
                wrongWhen: { all: [{ not: { is: ["tunnelPort", 0] } }, { is: ["tunnelType", "gre"] }] },
            },
            {
                key: "noSNAT",
                rule: "must be false unless trafficEncapMode is noEncap or networkPolicyOnly",
                wrongWhen: {
                    all: [{ is: ["noSNAT", true] }, { not: mode("noEncap") }, { not: mode("networkPolicyOnly") }],
                },
            },
            {
                key: "trafficEncryptionMode",
                rule: `${here}; use none`,
                wrongWhen: { not: { is: ["trafficEncryptionMode", "none"] } },
            },
            {
                key: "featureGates.AntreaIPAM",
                rule: `must be true ${bridging}, which is for Pods of IPPools`,
                wrongWhen: { all: [bridged, { not: { gate: "AntreaIPAM" } }] },
            },
            {
                key: "trafficEncapMode",
                rule: `must be noEncap ${bridging}: bridged Pods are not in tunnels`,
                wrongWhen: { all: [bridged, { not: mode("noEncap") }] },
            },
            {
                key: "noSNAT",
                rule: `must be true ${bridging}: the network must know the podCIDRs`,
                wrongWhen: { all: [bridged, { is: ["noSNAT", false] }] },
            },
            {
                key: "antreaProxy.proxyAll",
                rule: "must be false while antreaProxy.enable is false: nothing serves Services in OVS then",
                wrongWhen: { all: [proxyAll, { is: ["antreaProxy.enable", false] }] },
            },
            {
                key: "antreaProxy.proxyAll",
                rule: "must be false while the feature gate AntreaProxy is off: nothing serves Services in OVS then",
                wrongWhen: { all: [proxyAll, { not: { gate: "AntreaProxy" } }] },
            },
            {
                key: "antreaProxy.defaultLoadBalancerMode",
                rule: `${here}; use nat`,
                wrongWhen: { is: ["antreaProxy.defaultLoadBalancerMode", "dsr"] },
            },
            {
                key: "antreaProxy.disableServiceHealthCheckServer",
                rule: "has an effect with antreaProxy.proxyAll only; use false",
                wrongWhen: {
                    all: [
                        { is: ["antreaProxy.disableServiceHealthCheckServer", true] },
                        { is: ["antreaProxy.proxyAll", false] },
                    ],
                },
            },
            { key: "nodeType", rule: `${here}; use k8sNode`, wrongWhen: { not: { is: ["nodeType", "k8sNode"] } } },
            {
                key: "hostGateway",
                rule: "must differ from ovsBridge",
                wrongWhen: { same: ["hostGateway", "ovsBridge"] },
            },
            ...["hostGateway", "ovsBridge"].map((own): RuleText => ({
                key: "transportInterface",
                rule: `must differ from ${own}`,
                // if both are empty, hostGateway or ovsBridge is invalid alone
                wrongWhen: {
                    all: [{ same: ["transportInterface", own] }, { not: { is: ["transportInterface", ""] } }],
                },
            })),
        ] satisfies readonly RuleText[]
    ).map((one) => declared<AgentConfig>(one)),
    {
        keys: ["secondaryNetwork.ovsBridges", "ovsBridge"],
        check: ({ secondaryNetwork, ovsBridge }) =>
            secondaryNetwork.ovsBridges.some(({ bridgeName }) => bridgeName === ovsBridge)
                ? {
                      key: "secondaryNetwork.ovsBridges",
                      rule: "must not name the bridge of ovsBridge; choose another name",
                  }
                : undefined,
    },
    {
        keys: ["secondaryNetwork.ovsBridges"],
        check: ({ secondaryNetwork }) => {
            const nics = secondaryNetwork.ovsBridges.flatMap(({ physicalInterfaces }) => physicalInterfaces);
            const twice = nics.find((name, index) => nics.indexOf(name) !== index);
            return twice === undefined
                ? undefined
                : {
                      key: "secondaryNetwork.ovsBridges",
                      rule: `must not name the interface ${twice} twice; remove one`,
                  };
        },
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
