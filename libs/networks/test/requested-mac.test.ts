import { describe, expect, it } from "@jest/globals";
import { CniCallError, parseCniArgs, parseNetworkConfig } from "@antrea/cni";
import { networkOfCall, requestedMac } from "../src/index.ts";

const config = (document: object) =>
    parseNetworkConfig(JSON.stringify({ cniVersion: "1.0.0", name: "n", type: "antrea", ...document }));
const mac = (document: object, args = "") => requestedMac({ args: parseCniArgs(args), config: config(document) });

const byRuntime = { runtimeConfig: { mac: "02:00:00:00:00:0A" } };
const byArgs = { args: { cni: { mac: "02:00:00:00:00:0b" } } };

describe("requestedMac", () => {
    it.each<[string, object, string, string | undefined]>([
        ["none", {}, "", undefined],
        ["that of CNI_ARGS", {}, "MAC=02:00:00:00:00:0c", "02:00:00:00:00:0c"],
        ["args.cni.mac instead", byArgs, "MAC=02:00:00:00:00:0c", "02:00:00:00:00:0b"],
        ["runtimeConfig.mac instead, in lower case", { ...byArgs, ...byRuntime }, "", "02:00:00:00:00:0a"],
        ["empty ones count as none", { runtimeConfig: { mac: "" }, args: { cni: null } }, "MAC=", undefined],
    ])("takes %s", (_, document, args, expected) => {
        expect(mac(document, args)).toBe(expected);
    });

    it.each<[string, object, string, RegExp, string]>([
        [
            "a number",
            { runtimeConfig: { mac: 7 } },
            "",
            /^runtimeConfig\.mac: 7 must be a string; next: write a MAC/,
            "INVALID_NETWORK_CONFIG",
        ],
        [
            "a multicast address",
            { args: { cni: { mac: "01:00:5e:00:00:01" } } },
            "",
            /^args\.cni\.mac: "01:00:5e:00:00:01" is a multicast address; next: choose/,
            "INVALID_NETWORK_CONFIG",
        ],
        [
            "no MAC address",
            {},
            "MAC=02:00",
            /^CNI_ARGS\.MAC: "02:00" is refused: .*; next: write six pairs/,
            "INVALID_ENVIRONMENT_VARIABLES",
        ],
    ])("refuses %s", (_, document, args, message, code) => {
        const call = (): unknown => mac(document, args);
        expect(call).toThrow(message);
        expect(call).toThrow(CniCallError);
        expect(call).toThrow(expect.objectContaining({ code }));
    });
});

describe("networkOfCall", () => {
    it("reads the network of the call, whose name it has", () => {
        const ipam = { type: "antrea", ippools: ["pool1"] };
        expect(networkOfCall(config({ networkType: "vlan", vlan: 7, mtu: 1400, ipam }), "default")).toMatchObject({
            kind: "vlan",
            network: "default/n",
            vlan: 7,
            mtu: 1400,
            ipam: { ippools: ["pool1"] },
        });
        expect(networkOfCall(config({ networkType: "sriov" }), "default")).toMatchObject({
            kind: "sriov",
            network: "default/n",
        });
    });

    it.each<[string, object, RegExp]>([
        ["an unknown type", { networkType: "vxlan" }, /^network default\/n: networkType: "vxlan" is not supported/],
        [
            "another IPAM plugin",
            { networkType: "vlan", ipam: { type: "host-local" } },
            /^network default\/n: ipam\.type: /,
        ],
        [
            "a broken section",
            { networkType: "vlan", ipam: { type: "antrea", ippools: "a" } },
            /^network default\/n: .*ippools/,
        ],
    ])("refuses %s", (_, document, message) => {
        expect(() => networkOfCall(config(document), "default")).toThrow(message);
    });
});
