import { describe, expect, it } from "@jest/globals";
import { parseIp } from "@antrea/ip";
import { FlowsError, pipelineFlows, podFlows, tunnelPeerFlows } from "../src/index.ts";
import { exampleNode, examplePeer, examplePod } from "./examples.ts";

const node = exampleNode();
const pod = examplePod(1);

describe("input that is refused", () => {
    it.each([
        ["no family", () => pipelineFlows({ ...node, families: [] }), "families"],
        [
            "a family without a gateway address",
            () => pipelineFlows({ ...node, gateway: { ...node.gateway, ips: [parseIp("10.10.0.1")] } }),
            "gateway.ips",
        ],
        [
            "a family without a podCIDR",
            () => pipelineFlows({ ...node, podPrefixes: node.podPrefixes.slice(0, 1) }),
            "podPrefixes",
        ],
        [
            "a gateway without a port",
            () => pipelineFlows({ ...node, gateway: { ...node.gateway, ofPort: -1 } }),
            "gateway.ofPort",
        ],
        ["port 0", () => podFlows({ ...pod, ofPort: 0 }), "ofPort"],
        ["a reserved port number", () => podFlows({ ...pod, ofPort: 0xff00 }), "ofPort"],
        ["a group's MAC address", () => podFlows({ ...pod, mac: Uint8Array.of(1, 0, 0, 0, 0, 1) }), "mac"],
        ["a MAC address of zeros", () => podFlows({ ...pod, mac: new Uint8Array(6) }), "mac"],
        ["the unspecified address", () => podFlows({ ...pod, ips: [parseIp("::")] }), "ips"],
        [
            "a peer's gateway MAC of zeros",
            () => tunnelPeerFlows({ ...examplePeer(), gatewayMac: new Uint8Array(6) }),
            "gatewayMac",
        ],
        ["a peer at no address", () => tunnelPeerFlows(examplePeer([4], "0.0.0.0")), "remote"],
        ["a peer at a group's address", () => tunnelPeerFlows(examplePeer([4], "224.0.0.1")), "remote"],
        ["a peer at an IPv6 group's address", () => tunnelPeerFlows(examplePeer([4], "ff02::1")), "remote"],
        ["a tunnel without a port", () => pipelineFlows({ ...node, tunnel: { ofPort: 0 } }), "tunnel.ofPort"],
    ])("%s", (_name, build, field) => {
        expect(build).toThrow(FlowsError);
        expect(build).toThrow(expect.objectContaining({ code: "INVALID_INPUT", details: { field } }));
    });
});
