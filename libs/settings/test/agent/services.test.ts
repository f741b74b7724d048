import { describe, expect, it } from "@jest/globals";
import { configuredServices, loadAgentConfig, servesServices } from "../../src/index.ts";

describe("whether OVS serves Services", () => {
    it.each<[string, boolean]>([
        ["", true],
        ["antreaProxy: { enable: false }", false],
        ["featureGates: { AntreaProxy: false }", false],
        [
            "{ enableBridgingMode: true, trafficEncapMode: noEncap, noSNAT: true, featureGates: { AntreaIPAM: true } }",
            true,
        ],
    ])("%s", (text, expected) => {
        expect(servesServices(loadAgentConfig(text))).toBe(expected);
    });
});

it("what the configuration decides about them", () => {
    const text = `
antreaProxy: { proxyLoadBalancerIPs: false, skipServices: [shop/web], serviceProxyName: other }
featureGates: { PreferSameTrafficDistribution: false }`;
    expect(configuredServices(loadAgentConfig(text))).toEqual({
        proxyAll: false,
        proxyLoadBalancerIps: false,
        serviceProxyName: "other",
        skipServices: ["shop/web"],
        defaultLoadBalancerMode: "nat",
        dsr: false,
        nodeHints: false,
    });
});
