import { describe, it } from "@jest/globals";
import { type Family } from "@antrea/ip";
import {
    exampleBridgedPeer,
    exampleBridgedPod,
    exampleBridgingNode,
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
import { expectGolden, section } from "./golden-file.ts";

const remotes: Readonly<Record<string, string>> = { v6: "2001:db8::11" };

// UPDATE_GOLDEN=1 writes the files anew: read the difference before it is committed.
describe("the flows as ovs-ofctl shows them", () => {
    it.each<[string, readonly Family[]]>([
        ["v4", [4]],
        ["v6", [6]],
        ["dual", [4, 6]],
    ])("%s", (name, families) => {
        const text = [
            section("pipelineFlows", pipelineFlows(exampleTunnelNode(families)).flows),
            section("podFlows", podFlows(examplePod(1, families)).flows),
            section("tunnelPeerFlows", tunnelPeerFlows(examplePeer(families, remotes[name])).flows),
        ].join("\n");
        expectGolden(name, text);
    });

    it("bridging", () => {
        const text = [
            section("pipelineFlows", pipelineFlows(exampleBridgingNode()).flows),
            section("podFlows, VLAN 0", podFlows(exampleBridgedPod(3, 0)).flows),
            section("podFlows, VLAN 2", podFlows(exampleBridgedPod(5, 2)).flows),
            section("podFlows, VLAN 0, IPv4 only", podFlows(exampleBridgedPod(3, 0, [4])).flows),
            section("podFlows, VLAN 0, IPv6 only", podFlows(exampleBridgedPod(3, 0, [6])).flows),
            section("vlanFlows, VLAN 0", vlanFlows(exampleVlan(0, 3, 4)).flows),
            section("vlanFlows, VLAN 2", vlanFlows(exampleVlan(2, 5)).flows),
            section("bridgedPeerFlows", bridgedPeerFlows(exampleBridgedPeer()).flows),
        ].join("\n");
        expectGolden("bridging", text);
    });
});
