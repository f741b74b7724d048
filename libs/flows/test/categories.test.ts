import { describe, expect, it } from "@jest/globals";
import { flowKey } from "@antrea/openflow";
import { bridgingParts, Category, nodeParts, tunnelPart, type FlowSet } from "../src/index.ts";
import {
    bridgedPeerFlows,
    bridgingModeTables,
    exampleBridgedPeer,
    exampleBridgedPod,
    exampleBridgingNode,
    examplePeer,
    examplePod,
    exampleTunnelNode,
    exampleVlan,
    plainTables,
    podFlows,
    tunnelPeerFlows,
    vlanFlows,
    type ExampleNode,
} from "./examples.ts";

function bridgingSets(node: ExampleNode): readonly FlowSet[] {
    return bridgingModeTables.flows([...nodeParts(node), ...bridgingParts(node)]);
}

describe("categories mark what only the API server knows", () => {
    it.each([
        ["by tunnel over IPv4", tunnelPeerFlows(examplePeer())],
        ["by tunnel over IPv6", tunnelPeerFlows(examplePeer([4, 6], "2001:db8::11"))],
        ["of bridged Pods", bridgedPeerFlows(exampleBridgedPeer())],
    ])("the routes to other Nodes, %s", (_name, set) => {
        expect(set.category).toBe(Category.nodeConnectivity);
        expect(set.flows).toHaveLength(2);
    });

    it("the ranges of Services, and nothing else of the pipeline", () => {
        const node = exampleBridgingNode();
        const without = { ...node, bridging: node.bridging && { ...node.bridging, serviceCidrs: [] } };
        const [base, services, ...more] = bridgingSets(node);
        expect([base?.category, services?.category, more]).toEqual([Category.default, Category.service, []]);
        expect(services?.flows).toHaveLength(2);
        const [baseWithout, servicesWithout] = bridgingSets(without);
        expect(servicesWithout?.flows).toEqual([]);
        expect(base?.flows.map(flowKey)).toEqual(baseWithout?.flows.map(flowKey));
    });

    it("a pipeline with tunnels has no other category", () => {
        const node = exampleTunnelNode();
        const sets = plainTables.flows([...nodeParts(node), tunnelPart({ ...node, ofPort: 32_768 })]);
        expect(sets.map(({ category }) => category)).toEqual([Category.default]);
    });

    it.each([
        ["a Pod", podFlows(examplePod(1))],
        ["a Pod of a foreign subnet", podFlows({ ...examplePod(1), foreignSubnet: true })],
        ["an untagged bridged Pod", podFlows(exampleBridgedPod(2, 0))],
        ["a Pod of a VLAN", podFlows(exampleBridgedPod(2, 2))],
        ["the untagged network", vlanFlows(exampleVlan(0, 1, 2))],
        ["a VLAN", vlanFlows(exampleVlan(2, 1, 2))],
    ])("%s is of this Node", (_name, set) => expect(set.category).toBe(Category.podConnectivity));
});
