/**
 * Stage of a feature gate that is available: `Alpha` is disabled by default, `Beta` enabled by default, `GA` always
 * enabled.
 */
export type GateStage = "Alpha" | "Beta" | "GA";

/** The daemon to which a settings file or feature gate belongs. */
export type Component = "agent" | "controller";

/** Definition of a feature gate: its stage, components, and whether the feature is available. */
export interface GateSpec<Name extends string = string> {
    readonly name: Name;
    readonly stage: GateStage;
    /** The daemons in which the gate has an effect. */
    readonly components: readonly Component[];
    /**
     * False if this version does not have the feature: the gate is known, counts as disabled, and cannot be enabled.
     */
    readonly available: boolean;
}

const both = ["agent", "controller"] as const;
const agent = ["agent"] as const;
const controller = ["controller"] as const;

/**
 * All feature gates: those of upstream Antrea's documentation in its order, then later ones. Only those with
 * `available` have an effect.
 */
export const gateSpecs = [
    { name: "AntreaProxy", stage: "Beta", components: agent, available: true },
    { name: "EndpointSlice", stage: "GA", components: agent, available: true },
    { name: "AntreaPolicy", stage: "Beta", components: both, available: false },
    { name: "Traceflow", stage: "Beta", components: both, available: false },
    { name: "FlowExporter", stage: "Alpha", components: agent, available: false },
    { name: "NetworkPolicyStats", stage: "Beta", components: both, available: false },
    { name: "NodePortLocal", stage: "Beta", components: agent, available: false },
    { name: "Egress", stage: "Alpha", components: both, available: false },
    { name: "NodeIPAM", stage: "Beta", components: controller, available: true },
    { name: "AntreaIPAM", stage: "Alpha", components: both, available: true },
    { name: "Multicast", stage: "Alpha", components: agent, available: false },
    { name: "SecondaryNetwork", stage: "Alpha", components: agent, available: true },
    { name: "TopologyAwareHints", stage: "GA", components: agent, available: true },
    { name: "ServiceTrafficDistribution", stage: "GA", components: agent, available: true },
    { name: "PreferSameTrafficDistribution", stage: "Beta", components: agent, available: true },
    { name: "CleanupStaleUDPSvcConntrack", stage: "Beta", components: agent, available: true },
    { name: "LoadBalancerModeDSR", stage: "Alpha", components: agent, available: false },
    { name: "ServiceExternalIP", stage: "Beta", components: both, available: false },
    { name: "TrafficControl", stage: "Alpha", components: agent, available: false },
    { name: "Multicluster", stage: "Alpha", components: both, available: false },
    { name: "IPsecCertAuth", stage: "Alpha", components: both, available: false },
    { name: "ExternalNode", stage: "Alpha", components: both, available: false },
    { name: "SupportBundleCollection", stage: "Alpha", components: both, available: false },
    { name: "L7NetworkPolicy", stage: "Alpha", components: both, available: false },
    { name: "L7FlowExporter", stage: "Alpha", components: agent, available: false },
    { name: "AdminNetworkPolicy", stage: "Alpha", components: controller, available: false },
    { name: "ClusterNetworkPolicy", stage: "Alpha", components: controller, available: false },
    { name: "EgressTrafficShaping", stage: "Alpha", components: agent, available: false },
    { name: "EgressSeparateSubnet", stage: "Beta", components: agent, available: false },
    { name: "NodeNetworkPolicy", stage: "Alpha", components: agent, available: false },
    { name: "BGPPolicy", stage: "Alpha", components: agent, available: false },
    { name: "NodeLatencyMonitor", stage: "Alpha", components: agent, available: false },
    { name: "PacketCapture", stage: "Alpha", components: agent, available: false },
    { name: "NFTablesHostNetworkMode", stage: "Alpha", components: agent, available: false },
    { name: "AntreaNodeConfig", stage: "Beta", components: agent, available: false },
] as const satisfies readonly GateSpec[];

/** Name of a feature gate of `gateSpecs`, available or not. */
export type FeatureGateName = (typeof gateSpecs)[number]["name"];
