import { describe, expect, it } from "@jest/globals";
import { loadAgentConfig } from "../../src/agent/load.ts";
import { fileWith, findingsOf, rules } from "../tables.ts";

const later = "not available in this version";
const bridge = { bridgeName: "br-int", physicalInterfaces: ["eth1"] };
const secondary = { bridgeName: "br-sec", physicalInterfaces: ["eth1"] };

describe("rules of antrea-agent.conf", () => {
    it.each<[name: string, file: Record<string, unknown>, findings: readonly string[]]>([
        [
            "policy only, with noSNAT",
            { trafficEncapMode: "networkPolicyOnly", noSNAT: true },
            [`trafficEncapMode: "networkPolicyOnly": ${later}; use encap, noEncap or hybrid`],
        ],
        [
            "noSNAT with encap",
            { trafficEncapMode: "encap", noSNAT: true },
            ["noSNAT: true: must be false unless trafficEncapMode is noEncap or networkPolicyOnly"],
        ],
        [
            "a port for a tunnel without ports",
            { trafficEncapMode: "encap", tunnelType: "gre", tunnelPort: 4754 },
            ["tunnelPort: 4754: must be 0 with tunnelType gre, which has no ports"],
        ],
        [
            "noSNAT with a mode that is wrong by itself",
            { trafficEncapMode: "x", noSNAT: true },
            ['trafficEncapMode: "x": must be one of encap, noEncap, hybrid, networkPolicyOnly'],
        ],
        [
            "encryption",
            { trafficEncryptionMode: "WireGuard" },
            [`trafficEncryptionMode: "WireGuard": ${later}; use none`],
        ],
        [
            "bridging without anything that it needs",
            { enableBridgingMode: true, trafficEncapMode: "encap" },
            [
                'trafficEncapMode: "encap": must be noEncap with enableBridgingMode: bridged Pods are not in tunnels',
                "featureGates.AntreaIPAM: nothing (default): must be true with enableBridgingMode, which is for Pods of IPPools",
                "noSNAT: false (default): must be true with enableBridgingMode: the network must know the podCIDRs",
            ],
        ],
        ["external Node", { nodeType: "externalNode" }, [`nodeType: "externalNode": ${later}; use k8sNode`]],
        [
            "gateway called as the bridge",
            { hostGateway: "br-int" },
            ['hostGateway: "br-int": must differ from ovsBridge'],
        ],
        [
            "transport interface called as the gateway",
            { transportInterface: "antrea-gw0" },
            ['transportInterface: "antrea-gw0": must differ from hostGateway'],
        ],
        [
            "transport interface called as the bridge",
            { transportInterface: "br0", ovsBridge: "br0" },
            ['transportInterface: "br0": must differ from ovsBridge'],
        ],
        ...["lo", "all", "default", "ovs-system", "ovs-netdev", "antrea-tun0"].map(
            (name): [string, Record<string, unknown>, readonly string[]] => [
                `gateway and bridge called ${name}`,
                { hostGateway: name, ovsBridge: name },
                ["ovsBridge", "hostGateway"].map((key) => `${key}: "${name}": ${rules.ownInterface}`),
            ],
        ),
        [
            "second bridge called as the first",
            { secondaryNetwork: { ovsBridges: [bridge] } },
            [
                `secondaryNetwork.ovsBridges: ${JSON.stringify([bridge])}: ` +
                    "must not name the bridge of ovsBridge; choose another name",
            ],
        ],
        [
            "second bridge called as the first, whose name is no default",
            { ovsBridge: "br0", secondaryNetwork: { ovsBridges: [{ ...bridge, bridgeName: "br0" }] } },
            [
                'secondaryNetwork.ovsBridges: [{"bridgeName":"br0","physicalInterfaces":["eth1"]}]: ' +
                    "must not name the bridge of ovsBridge; choose another name",
            ],
        ],
        [
            "an interface twice",
            { secondaryNetwork: { ovsBridges: [{ ...secondary, physicalInterfaces: ["eth1", "eth2", "eth1"] }] } },
            [
                'secondaryNetwork.ovsBridges: [{"bridgeName":"br-sec","physicalInterfaces":["eth1","eth2","eth1"]}]: ' +
                    "must not name the interface eth1 twice; remove one",
            ],
        ],
        [
            "two secondary bridges",
            { secondaryNetwork: { ovsBridges: [{ bridgeName: "a" }, { bridgeName: "b" }] } },
            [
                'secondaryNetwork.ovsBridges: [{"bridgeName":"a"},{"bridgeName":"b"}]: must be a list of at most 1 bridge; list all NICs in it',
            ],
        ],
        ...[undefined, [], Array.from({ length: 9 }, (_, at) => `eth${at}`)].map(
            (physicalInterfaces): [string, Record<string, unknown>, readonly string[]] => [
                `secondary bridge with ${physicalInterfaces?.length ?? "no list of"} interfaces`,
                {
                    secondaryNetwork: {
                        ovsBridges: [{ bridgeName: "b", ...(physicalInterfaces && { physicalInterfaces }) }],
                    },
                },
                [
                    `secondaryNetwork.ovsBridges[0].physicalInterfaces: ${JSON.stringify(physicalInterfaces) ?? "(missing)"}: ` +
                        "must be a list of 1 to 8 interfaces; name the NICs to connect to the bridge",
                ],
            ],
        ),
        [
            "secondary bridge without name",
            { secondaryNetwork: { ovsBridges: [{ physicalInterfaces: ["eth1"] }] } },
            [`secondaryNetwork.ovsBridges[0].bridgeName: (missing): ${rules.ownInterface}`],
        ],
        ...[
            "",
            "br sec",
            "br/sec",
            "br:sec",
            "..",
            "sixteen-letters0",
            "é".repeat(8),
            "lo",
            "ovs-system",
            "antrea-tun0",
        ].map((bridgeName): [string, Record<string, unknown>, readonly string[]] => [
            `secondary bridge called ${JSON.stringify(bridgeName)}`,
            { secondaryNetwork: { ovsBridges: [{ ...secondary, bridgeName }] } },
            [`secondaryNetwork.ovsBridges[0].bridgeName: ${JSON.stringify(bridgeName)}: ${rules.ownInterface}`],
        ]),
        ...["", "eth 1", "eth/1", "eth:1", ".", "sixteen-letters0", "é".repeat(8)].map(
            (name): [string, Record<string, unknown>, readonly string[]] => [
                `NIC called ${JSON.stringify(name)}`,
                { secondaryNetwork: { ovsBridges: [{ ...secondary, physicalInterfaces: ["eth1", name] }] } },
                [`secondaryNetwork.ovsBridges[0].physicalInterfaces[1]: ${JSON.stringify(name)}: ${rules.interface}`],
            ],
        ),
        [
            "two NICs with invalid names, whose equality is no second finding",
            { secondaryNetwork: { ovsBridges: [{ ...secondary, physicalInterfaces: ["a b", "a b"] }] } },
            [0, 1].map((at) => `secondaryNetwork.ovsBridges[0].physicalInterfaces[${at}]: "a b": ${rules.interface}`),
        ],
        ...(
            [
                ["defaultLoadBalancerMode", "DSR", "not available in this version; use nat"],
                ["disableServiceHealthCheckServer", true, "has an effect with antreaProxy.proxyAll only; use false"],
            ] as const
        ).map(([key, value, rule]): [string, Record<string, unknown>, readonly string[]] => [
            `antreaProxy.${key}`,
            { antreaProxy: { [key]: value } },
            [`antreaProxy.${key}: ${JSON.stringify(value)}: ${rule}`],
        ]),
        [
            "proxyAll without AntreaProxy",
            { antreaProxy: { proxyAll: true, enable: false }, featureGates: { AntreaProxy: false } },
            [
                "antreaProxy.proxyAll: true: must be false while antreaProxy.enable is false: nothing serves Services in OVS then",
                "antreaProxy.proxyAll: true: must be false while the feature gate AntreaProxy is off: nothing serves Services in OVS then",
            ],
        ],
        [
            "direct server return",
            { featureGates: { LoadBalancerModeDSR: true } },
            ["featureGates.LoadBalancerModeDSR: true: not available in this version; remove it or set it to false"],
        ],
        [
            "stretched policies without gateway",
            { multicluster: { enableStretchedNetworkPolicy: true } },
            ["multicluster.enableStretchedNetworkPolicy: true: needs multicluster.enableGateway"],
        ],
        [
            "bypass of a protocol with ports",
            {
                externalNode: { policyBypassRules: [{ direction: "ingress", protocol: "udp", cidr: "1.0.0.0/8" }] },
            },
            [
                'externalNode.policyBypassRules: [{"direction":"ingress","protocol":"udp","cidr":"1.0.0.0/8"}]: ' +
                    "must have a port where the protocol is tcp or udp",
            ],
        ],
    ])("%s", (_name, file, findings) => {
        expect(findingsOf(() => loadAgentConfig(JSON.stringify({ trafficEncapMode: "noEncap", ...file })))).toEqual(
            findings,
        );
    });

    it.each([
        ["flowExporter.enable", true],
        ["nodePortLocal.enable", true],
        ["multicast.enable", true],
        ["multicluster.enable", true],
        ["multicluster.enableGateway", true],
    ])("%s on is allowed and reported to have no effect", (key, value) => {
        const [warning, ...others] = loadAgentConfig(fileWith(key, value, { trafficEncapMode: "noEncap" })).warnings;
        expect(warning).toMatch(`${key} has no effect: the feature is ${later}`);
        expect(others).toEqual([]);
    });

    it("takes a secondary bridge with as many NICs as it may have, with names as long as they may be", () => {
        const physicalInterfaces = Array.from({ length: 8 }, (_, at) => `nic-with-name-${at}`);
        const ovsBridges = [{ bridgeName: "br-fifteen-char", physicalInterfaces, enableMulticastSnooping: true }];
        const file = { featureGates: { SecondaryNetwork: true }, secondaryNetwork: { ovsBridges } };
        const { config, warnings } = loadAgentConfig(JSON.stringify(file));
        expect([config.secondaryNetwork, warnings]).toEqual([{ ovsBridges }, []]);
    });

    it.each<[name: string, featureGates: Record<string, boolean>, ovsBridges: readonly unknown[], RegExp | undefined]>([
        ["neither gate nor bridge", {}, [], undefined],
        ["gate and bridge", { SecondaryNetwork: true }, [secondary], undefined],
        [
            "a bridge without the gate",
            {},
            [secondary],
            /^secondaryNetwork\.ovsBridges has no effect: the feature gate SecondaryNetwork is off$/,
        ],
        [
            "a bridge without the gate, of which all others are on",
            { AllAlpha: true, SecondaryNetwork: false },
            [secondary],
            /^secondaryNetwork\.ovsBridges has no effect: the feature gate SecondaryNetwork is off$/,
        ],
        [
            "the gate without a bridge",
            { SecondaryNetwork: true },
            [],
            /^featureGates\.SecondaryNetwork has no effect on VLAN networks without secondaryNetwork\.ovsBridges: /,
        ],
    ])("warns of what has no effect: %s", (_name, featureGates, ovsBridges, warning) => {
        const { warnings } = loadAgentConfig(JSON.stringify({ featureGates, secondaryNetwork: { ovsBridges } }));
        const ofNetworks = warnings.filter((line) => line.includes("secondaryNetwork"));
        expect(ofNetworks).toEqual(warning === undefined ? [] : [expect.stringMatching(warning)]);
    });

    it.each<[name: string, file: Record<string, unknown>, warning: string | undefined]>([
        ["nothing", {}, undefined],
        ["the gate off alone", { featureGates: { AntreaProxy: false } }, undefined],
        [
            "a Service to skip",
            { antreaProxy: { skipServices: ["kube-system/kube-dns", "10.96.0.10", "fd00::a"] } },
            undefined,
        ],
        [
            "what is changed without the gate",
            {
                featureGates: { AntreaProxy: false },
                antreaProxy: { skipServices: ["a/b"], serviceProxyName: "x", proxyLoadBalancerIPs: false },
            },
            "antreaProxy.proxyLoadBalancerIPs, antreaProxy.skipServices, antreaProxy.serviceProxyName: no effect: " +
                "the feature gate AntreaProxy is off, and kube-proxy serves all Services",
        ],
        [
            "what is changed although it is off",
            { antreaProxy: { enable: false, serviceProxyName: "x" } },
            "antreaProxy.serviceProxyName: no effect: antreaProxy.enable is false, and kube-proxy serves all Services",
        ],
        ["proxyAll", { antreaProxy: { proxyAll: true, nodePortAddresses: ["10.0.0.0/8", "fd00::/8"] } }, undefined],
        [
            "addresses of NodePorts without proxyAll",
            { antreaProxy: { nodePortAddresses: ["10.0.0.0/8"] } },
            "antreaProxy.nodePortAddresses has no effect without antreaProxy.proxyAll: set --nodeport-addresses of kube-proxy",
        ],
        [
            "a gate that nobody can switch off",
            { featureGates: { EndpointSlice: false } },
            "featureGates.EndpointSlice: false has no effect: the feature is GA and always on; remove it",
        ],
        [
            "the address of health checks without proxyAll",
            { antreaProxy: { serviceHealthCheckServerBindAddress: "127.0.0.1:10256" } },
            "antreaProxy.serviceHealthCheckServerBindAddress has no effect without antreaProxy.proxyAll: " +
                "set --healthz-bind-address of kube-proxy",
        ],
        ["bridging mode", { featureGates: { AntreaIPAM: true }, enableBridgingMode: true, noSNAT: true }, undefined],
        [
            "bridging mode with all Services",
            {
                featureGates: { AntreaIPAM: true },
                enableBridgingMode: true,
                noSNAT: true,
                antreaProxy: { proxyAll: true },
            },
            undefined,
        ],
    ])("warns of what has no effect on Services: %s", (_name, file, warning) => {
        const { warnings } = loadAgentConfig(JSON.stringify({ trafficEncapMode: "noEncap", ...file }));
        expect(warnings).toEqual(warning === undefined ? [] : [warning]);
    });

    it.each([
        ["encap by default", "", "encap"],
        ["noEncap", "trafficEncapMode: noEncap", "noEncap"],
        ["hybrid", "trafficEncapMode: hybrid", "hybrid"],
    ])("takes %s", (_name, file, mode) => {
        expect(loadAgentConfig(file).config.trafficEncapMode).toBe(mode);
    });

    it("noSNAT is allowed with noEncap", () => {
        expect(loadAgentConfig("trafficEncapMode: noEncap\nnoSNAT: true").config.noSNAT).toBe(true);
    });
});
