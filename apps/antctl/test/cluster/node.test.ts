import { describe, expect, it } from "@jest/globals";
import { formatIp, formatPrefix } from "@antrea/ip";
import { readNode } from "../../src/cluster/node.ts";

describe("readNode", () => {
    it("has the addresses that no pool hands out, as the agents and the controller read them", () => {
        const { addresses, podCidrs } = readNode({
            metadata: { name: "n" },
            spec: { podCIDR: "10.244.1.5/24" },
            status: {
                addresses: [
                    { type: "InternalIP", address: "172.18.0.2" },
                    { type: "Hostname", address: "172.18.0.2" },
                ],
            },
        });
        expect(addresses.map(formatIp)).toEqual(["172.18.0.2"]);
        expect(podCidrs.map(formatPrefix)).toEqual(["10.244.1.0/24"]);
    });

    it("is in bridging mode when it announces a MAC address", () => {
        const annotations = { "node.antrea.io/mac-address": "02:00:00:00:00:01" };
        expect(readNode({ metadata: { name: "n", annotations } }).isBridged).toBe(true);
        expect(readNode({ metadata: { name: "n" } }).isBridged).toBe(false);
    });

    it("has the condition of its bridge of networks, if its agent reports one", () => {
        const bridgeOf = (status: string, message: string) => {
            const condition = { type: "antrea.io/SecondaryBridgeReady", status, message };
            return readNode({ metadata: { name: "n" }, status: { conditions: [condition] } }).networkBridge;
        };
        const [some, none] = ["eth1 has an address", "eth1 has an address; no NIC of the bridge is connected"];
        expect(bridgeOf("False", some)).toEqual({ ready: false, connectsPods: true, message: some });
        expect(bridgeOf("False", none)).toEqual({ ready: false, connectsPods: false, message: none });
        expect(bridgeOf("True", "")).toEqual({ ready: true, connectsPods: true, message: "" });
        expect(readNode({ metadata: { name: "n" } }).networkBridge).toBeUndefined();
    });
});
