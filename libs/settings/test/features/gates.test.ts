import { describe, expect, it } from "@jest/globals";
import { loadAgentConfig } from "../../src/agent/load.ts";
import { loadControllerConfig } from "../../src/controller/load.ts";
import { readGates } from "../../src/features/gates.ts";
import { gateSpecs, type GateSpec } from "../../src/features/specs.ts";
import { findingsOf } from "../tables.ts";

type Name = "Young" | "Grown" | "Old" | "Planned";
const specs: readonly GateSpec<Name>[] = [
    { name: "Young", stage: "Alpha", components: ["agent"], available: true },
    { name: "Grown", stage: "Beta", components: ["agent", "controller"], available: true },
    { name: "Old", stage: "GA", components: ["agent"], available: true },
    { name: "Planned", stage: "Beta", components: ["agent"], available: false },
];

describe("the rules of gates", () => {
    it.each<[given: Record<string, boolean>, on: readonly Name[]]>([
        [{}, ["Grown", "Old"]],
        [{ Young: true, Grown: false }, ["Young", "Old"]],
        [{ AllAlpha: true }, ["Young", "Grown", "Old"]],
        [{ AllBeta: false }, ["Old"]],
        [{ AllAlpha: true, Young: false, AllBeta: false, Grown: true }, ["Grown", "Old"]],
        [{ AllBeta: true }, ["Grown", "Old"]],
        [{ Planned: false }, ["Grown", "Old"]],
        [{ Old: true }, ["Grown", "Old"]],
        [{ Old: false }, ["Grown", "Old"]],
    ])("%j leaves on %j", (given, on) => {
        const { gates, problems } = readGates(specs, "agent", given);
        expect(specs.map(({ name }) => name).filter((name) => gates.enabled(name))).toEqual(on);
        expect(problems).toEqual([]);
    });

    it.each<[given: Record<string, boolean>, rule: string]>([
        [{ Planned: true }, "not available in this version; remove it or set it to false"],
        [{ Yung: true }, "unknown feature gate; did you mean Young?"],
        [{ Nothing: false }, "unknown feature gate; known are Young, Grown, Old, Planned, AllAlpha, AllBeta"],
        [{ toString: true }, "unknown feature gate; known are Young, Grown, Old, Planned, AllAlpha, AllBeta"],
    ])("%j is refused", (given, rule) => {
        expect(readGates(specs, "agent", given).problems).toEqual([{ name: Object.keys(given)[0], rule }]);
    });

    it("warns about what has no effect", () => {
        expect(readGates(specs, "controller", { Young: true, Old: true }).warnings).toEqual([
            "featureGates.Young has no effect here: it is a gate of the antrea-agent",
            "featureGates.Old has no effect here: it is a gate of the antrea-agent",
        ]);
        for (const value of [true, false]) {
            expect(readGates(specs, "agent", { Old: value }).warnings).toEqual([
                `featureGates.Old: ${value} has no effect: the feature is GA and always on; remove it`,
            ]);
        }
    });
});

/** The gates that a values file of today's Antrea may name. */
const ofAntrea = (
    "AntreaProxy EndpointSlice TopologyAwareHints ServiceTrafficDistribution PreferSameTrafficDistribution " +
    "CleanupStaleUDPSvcConntrack LoadBalancerModeDSR AntreaPolicy Traceflow FlowExporter NetworkPolicyStats NodePortLocal " +
    "Egress NodeIPAM AntreaIPAM Multicast SecondaryNetwork ServiceExternalIP TrafficControl Multicluster IPsecCertAuth " +
    "ExternalNode SupportBundleCollection L7NetworkPolicy AdminNetworkPolicy ClusterNetworkPolicy EgressTrafficShaping " +
    "EgressSeparateSubnet NodeNetworkPolicy BGPPolicy NodeLatencyMonitor PacketCapture NFTablesHostNetworkMode " +
    "AntreaNodeConfig"
).split(" ");

describe("the gates of this version", () => {
    it("are listed by component", () => {
        const { gates } = loadControllerConfig("featureGates:\n  # nothing\n");
        const stages = (component: "agent" | "controller"): readonly string[] =>
            gates.list(component).map(({ name, status, stage }) => `${name} ${stage} ${status}`);
        expect(stages("controller").filter((line) => !line.endsWith("NotAvailable"))).toEqual([
            "AntreaIPAM Alpha Disabled",
            "NodeIPAM Beta Enabled",
        ]);
        expect(stages("agent").filter((line) => !line.endsWith("NotAvailable"))).toEqual([
            "AntreaIPAM Alpha Disabled",
            "AntreaProxy Beta Enabled",
            "CleanupStaleUDPSvcConntrack Beta Enabled",
            "EndpointSlice GA Enabled",
            "PreferSameTrafficDistribution Beta Enabled",
            "SecondaryNetwork Alpha Disabled",
            "ServiceTrafficDistribution GA Enabled",
            "TopologyAwareHints GA Enabled",
        ]);
        expect(stages("controller")).toContain("Traceflow Beta NotAvailable");
        expect(stages("agent")).toContain("LoadBalancerModeDSR Alpha NotAvailable");
        const off = loadControllerConfig("featureGates: {AllBeta: false}").gates.list("controller");
        expect(off.find(({ name }) => name === "NodeIPAM")?.status).toBe("Disabled");
    });

    it("are those of Antrea's guide and of later versions, each accepted when it is off", () => {
        const all = gateSpecs.map(({ name }) => name);
        expect(all).toEqual(expect.arrayContaining(ofAntrea));
        const featureGates = Object.fromEntries(all.map((name) => [name, false]));
        expect(loadAgentConfig(JSON.stringify({ featureGates })).config.featureGates).toEqual(featureGates);
        expect(loadControllerConfig(JSON.stringify({ featureGates })).config.featureGates).toEqual(featureGates);
    });

    it("report which of a stage stay off when all of it is switched on", () => {
        const [warning = "", ...others] = loadAgentConfig("featureGates: {AllBeta: true, Traceflow: false}").warnings;
        expect(others).toEqual([]);
        expect(warning).toMatch(
            /^featureGates\.AllBeta leaves off what is not available in this version: AntreaPolicy, NetworkPolicyStats, /,
        );
        expect(warning).not.toMatch(/Traceflow|AntreaIPAM|Multicast/);
        expect(loadAgentConfig("featureGates: {AllBeta: false}").warnings).toEqual([]);
    });

    it("stop the start when they are wrong, together with other findings, in the order of the file", () => {
        const file = [
            "trafficEncapMode: noEncap",
            "featureGates:",
            "  AntreaIPAM: true",
            "  Multicast: true",
            "  Egres: false",
            "  AntreaProxy: false",
            "  SecondaryNetwork: 'yes'",
            "apiPort: -1",
        ].join("\n");
        expect(findingsOf(() => loadAgentConfig(file))).toEqual([
            "featureGates.Multicast: true: not available in this version; remove it or set it to false",
            "featureGates.Egres: false: unknown feature gate; did you mean Egress?",
            'featureGates.SecondaryNetwork: "yes": must be true or false',
            "apiPort: -1: must be a whole number from 1 to 65535",
        ]);
    });
});
