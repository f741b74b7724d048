/** `Alpha`: off unless switched on. `Beta`: on unless switched off. `GA`: on, cannot be switched. */
export type GateStage = "Alpha" | "Beta" | "GA";

export type Component = "agent" | "controller";

export interface GateSpec<Name extends string = string> {
    readonly name: Name;
    readonly stage: GateStage;
    readonly components: readonly Component[];
    /** False while the feature does not exist: the gate is known, counts as off, and cannot be switched on. */
    readonly available: boolean;
}

const both = ["agent", "controller"] as const;
const agent = ["agent"] as const;
const controller = ["controller"] as const;

/** Every feature gate, in the order of Antrea's guide. */
export const gateSpecs = [
    { name: "AntreaProxy", stage: "Beta", components: agent, available: false },
    { name: "EndpointSlice", stage: "Alpha", components: agent, available: false },
    { name: "AntreaPolicy", stage: "Beta", components: both, available: false },
    { name: "Traceflow", stage: "Beta", components: both, available: false },
    { name: "FlowExporter", stage: "Alpha", components: agent, available: false },
    { name: "NetworkPolicyStats", stage: "Beta", components: both, available: false },
    { name: "NodePortLocal", stage: "Beta", components: agent, available: false },
    { name: "Egress", stage: "Alpha", components: both, available: false },
    { name: "NodeIPAM", stage: "Beta", components: controller, available: true },
    { name: "AntreaIPAM", stage: "Alpha", components: both, available: true },
    { name: "Multicast", stage: "Alpha", components: agent, available: false },
    { name: "SecondaryNetwork", stage: "Alpha", components: agent, available: false },
] as const satisfies readonly GateSpec[];

export type FeatureGateName = (typeof gateSpecs)[number]["name"];
