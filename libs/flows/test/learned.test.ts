import { describe, expect, it } from "@jest/globals";
import { flowKey, type Flow } from "@antrea/openflow";
import { isLearnedFlow, type FlowSet } from "../src/index.ts";
import {
    exampleBridgedPeer,
    exampleBridgedPod,
    exampleBridgingNode,
    exampleNode,
    examplePeer,
    examplePod,
    exampleTunnelNode,
    exampleVlan,
    bridgedPeerFlows,
    pipelineFlows,
    podFlows,
    tunnelPeerFlows,
    vlanFlows,
} from "./examples.ts";

const learned = ({ flows }: FlowSet): readonly Flow[] => flows.filter(isLearnedFlow);

describe("flows that only the API server lets an agent make", () => {
    it.each([
        ["by tunnel over IPv4", tunnelPeerFlows(examplePeer())],
        ["by tunnel over IPv6", tunnelPeerFlows(examplePeer([4, 6], "2001:db8::11"))],
        ["of bridged Pods", bridgedPeerFlows(exampleBridgedPeer())],
    ])("are those to other Nodes, %s", (_name, set) => {
        expect(learned(set)).toEqual(set.flows);
        expect(set.flows).toHaveLength(2);
    });

    it("are those to Services, and nothing else of the pipeline", () => {
        const node = exampleBridgingNode();
        const without = { ...node, bridging: node.bridging && { ...node.bridging, serviceCidrs: [] } };
        expect(learned(pipelineFlows(without))).toEqual([]);
        const rest = new Set(pipelineFlows(without).flows.map((flow) => flowKey(flow)));
        const added = pipelineFlows(node).flows.filter((flow) => !rest.has(flowKey(flow)));
        expect(learned(pipelineFlows(node))).toEqual(added);
        expect(added).toHaveLength(2);
    });

    it.each([
        ["a pipeline without bridging mode", pipelineFlows(exampleNode())],
        ["a pipeline with tunnels", pipelineFlows(exampleTunnelNode())],
        ["a Pod", podFlows(examplePod(1))],
        ["a Pod of a foreign subnet", podFlows({ ...examplePod(1), foreignSubnet: true })],
        ["an untagged bridged Pod", podFlows(exampleBridgedPod(2, 0))],
        ["a Pod of a VLAN", podFlows(exampleBridgedPod(2, 2))],
        ["the untagged network", vlanFlows(exampleVlan(0, 1, 2))],
        ["a VLAN", vlanFlows(exampleVlan(2, 1, 2))],
    ])("are not those of %s", (_name, set) => expect(learned(set)).toEqual([]));
});
