import { describe, it } from "@jest/globals";
import { parseIp, parsePrefix } from "@antrea/ip";
import { nodeAddressFlows, podFlows } from "../src/index.ts";
import { pipelineFlows, pipelineOf } from "./examples.ts";
import { expectGolden, groupSection, section } from "./golden-file.ts";
import { endpoint, nodeAddresses, portFlows, servedPort, serviceNode, servicePods } from "./service-examples.ts";

// UPDATE_GOLDEN=1 writes the files anew: read the difference before it is committed.
describe("the flows of Services as ovs-ofctl shows them", () => {
    it.each([
        ["encap", false],
        ["encap", true],
        ["noEncap", true],
        ["bridging", false],
        ["bridging", true],
    ] as const)("%s, proxyAll %s", (mode, proxyAll) => {
        const node = serviceNode(mode, proxyAll);
        const next = pipelineOf(node);
        const text = [
            section("pipelineFlows", pipelineFlows(node).flows),
            ...servicePods(node)
                .filter((_, at) => at % 2 === 0)
                .map((pod) => section(`podFlows, port ${pod.ofPort}`, podFlows(next, pod).flows)),
            ...(proxyAll ? [section("nodeAddressFlows", nodeAddressFlows(next, nodeAddresses).flows)] : []),
        ].join("\n");
        expectGolden(`services-${mode}${proxyAll ? "-proxy-all" : ""}`, text);
    });

    const two = [endpoint("10.10.0.3"), endpoint("10.10.1.5")];
    const two6 = [endpoint("fd00:10::3"), endpoint("fd00:10:0:1::5")];
    const local = { inside: "cluster", outside: "local" } as const;
    const external = {
        addresses: [
            { kind: "cluster", ip: parseIp("10.96.0.10"), inside: "cluster", outside: "cluster" },
            { kind: "loadBalancer", ip: parseIp("192.0.2.80"), ...local },
            { kind: "external", ip: parseIp("172.18.0.100"), ...local },
        ],
        nodePort: { port: 30080, ...local },
        sourceRanges: [parsePrefix("198.51.100.0/24"), parsePrefix("10.10.0.0/24")],
    } as const;
    const standIns = new Map([["172.18.0.100", parseIp("169.254.0.128")]]);
    it("ports of Services", () => {
        const node = serviceNode("encap", true);
        const insideOnly = serviceNode("encap", false);
        const bridging = serviceNode("bridging", true);
        const ports = [
            ["no endpoint", portFlows(node, 1, servedPort("10.96.0.10", []))],
            ["one endpoint", portFlows(node, 1, servedPort("10.96.0.10", two.slice(0, 1)))],
            ["two endpoints", portFlows(node, 1, servedPort("10.96.0.10", two))],
            ["IPv6, UDP", portFlows(node, 1, servedPort("fd00:96::10", two6, { protocol: "UDP" }))],
            [
                "affinity, UDP",
                portFlows(node, 1, servedPort("10.96.0.10", two, { protocol: "UDP" }), { affinitySeconds: 100 }),
            ],
            [
                "external, policy Local, UDP",
                portFlows(node, 1, servedPort("10.96.0.10", two, { ...external, protocol: "UDP" }), { standIns }),
            ],
            ["bridging mode, SCTP", portFlows(bridging, 1, servedPort("10.96.0.10", two, { protocol: "SCTP" }))],
            ["affinity", portFlows(node, 1, servedPort("10.96.0.10", two), { affinitySeconds: 100, salt: 7n })],
            [
                "affinity, one endpoint",
                portFlows(node, 1, servedPort("10.96.0.10", two.slice(0, 1)), { affinitySeconds: 100 }),
            ],
            ["affinity, IPv6", portFlows(node, 1, servedPort("fd00:96::10", two6), { affinitySeconds: 100 })],
            ["external, policy Local", portFlows(node, 1, servedPort("10.96.0.10", two, external), { standIns })],
            [
                "external, policy Local, affinity",
                portFlows(node, 1, servedPort("10.96.0.10", [endpoint("10.10.0.2"), ...two], external), {
                    standIns,
                    affinitySeconds: 100,
                }),
            ],
            [
                "external, policy Local, without a local endpoint",
                portFlows(node, 1, servedPort("10.96.0.10", two.slice(1), external)),
            ],
            ["external, without proxyAll", portFlows(insideOnly, 1, servedPort("10.96.0.10", two, external))],
        ] as const;
        const text = ports
            .flatMap(([title, { groups, flows }]) => [
                section(title, flows.flows),
                ...(groups.length === 0 ? [] : [groupSection(`${title}: groups`, groups)]),
            ])
            .join("\n");
        expectGolden("service-ports", text);
    });
});
