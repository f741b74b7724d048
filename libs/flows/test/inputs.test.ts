import { describe, expect, it } from "@jest/globals";
import { parseIp } from "@antrea/ip";
import { FlowsError } from "../src/index.ts";
import {
    exampleBridgedPeer,
    exampleBridgedPod,
    exampleNode,
    examplePeer,
    examplePod,
    exampleVlan,
    hostMac,
    bridgedPeerFlows,
    pipelineFlows,
    podFlows,
    tunnelPeerFlows,
    vlanFlows,
} from "./examples.ts";

const node = exampleNode();
const pod = examplePod(1);
const bridged = exampleBridgedPod(1, 2);
const bridging = {
    uplink: { ofPort: 32770 },
    host: { ofPort: 32771, mac: hostMac, ips: [] },
    serviceCidrs: [],
};

describe("input that is accepted", () => {
    it("is up to the highest VLAN", () => {
        expect(() => vlanFlows(exampleVlan(4094))).not.toThrow();
        expect(() => podFlows({ ...bridged, bridged: { vlan: 4094, hostMac, subnets: [] } })).not.toThrow();
    });

    it("is up to the highest port number of a port", () => {
        expect(() => podFlows({ ...pod, ofPort: 0xfeff })).not.toThrow();
        expect(() => podFlows({ ...pod, ofPort: 0xff00 })).toThrow("it must be a whole number from 1 to 65279");
    });
});

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
        [
            "bridging together with tunnels",
            () => pipelineFlows({ ...node, bridging, tunnel: { ofPort: 32768 } }),
            "bridging",
        ],
        [
            "an uplink without a port",
            () => pipelineFlows({ ...node, bridging: { ...bridging, uplink: { ofPort: 0 } } }),
            "bridging.uplink.ofPort",
        ],
        [
            "a host port without a port",
            () => pipelineFlows({ ...node, bridging: { ...bridging, host: { ...bridging.host, ofPort: -1 } } }),
            "bridging.host.ofPort",
        ],
        [
            "a host port with a group's MAC address",
            () =>
                pipelineFlows({
                    ...node,
                    bridging: { ...bridging, host: { ...bridging.host, mac: Uint8Array.of(1, 0, 0, 0, 0, 1) } },
                }),
            "bridging.host.mac",
        ],
        [
            "a host port at no address",
            () =>
                pipelineFlows({
                    ...node,
                    bridging: { ...bridging, host: { ...bridging.host, ips: [parseIp("0.0.0.0")] } },
                }),
            "bridging.host.ips",
        ],
        ["a bridged Pod of a foreign subnet", () => podFlows({ ...bridged, foreignSubnet: true }), "bridged"],
        ["VLAN 4095", () => podFlows({ ...bridged, bridged: { vlan: 4095, hostMac, subnets: [] } }), "bridged.vlan"],
        ["VLAN -1", () => podFlows({ ...bridged, bridged: { vlan: -1, hostMac, subnets: [] } }), "bridged.vlan"],
        ["half a VLAN", () => podFlows({ ...bridged, bridged: { vlan: 0.5, hostMac, subnets: [] } }), "bridged.vlan"],
        [
            "a host's MAC address of zeros",
            () => podFlows({ ...bridged, bridged: { vlan: 0, hostMac: new Uint8Array(6), subnets: [] } }),
            "bridged.hostMac",
        ],
        ["a VLAN that no tag can name", () => vlanFlows(exampleVlan(4095)), "vlan"],
        ["a Pod's port 0 in a VLAN", () => vlanFlows({ ...exampleVlan(2), podPorts: [0] }), "podPorts"],
        ["a VLAN without an uplink", () => vlanFlows({ ...exampleVlan(2), uplink: { ofPort: 0 } }), "uplink.ofPort"],
        ["a VLAN without a host port", () => vlanFlows({ ...exampleVlan(2), host: { ofPort: 0 } }), "host.ofPort"],
        [
            "a bridged peer's MAC of zeros",
            () => bridgedPeerFlows({ ...exampleBridgedPeer(), mac: new Uint8Array(6) }),
            "mac",
        ],
    ])("%s", (_name, build, field) => {
        expect(build).toThrow(FlowsError);
        expect(build).toThrow(expect.objectContaining({ code: "INVALID_INPUT", details: { field } }));
    });
});
