import { describe, expect, it } from "@jest/globals";
import { parsePrefix } from "@antrea/ip";
import { refuseOtherPodCidrs, type NodeConfig } from "../../src/node-config/index.ts";

const node: NodeConfig = {
    name: "worker",
    podPrefixes: [parsePrefix("10.10.1.0/24"), parsePrefix("fd00:10::/64")],
    gatewayIps: [],
    transport: {
        ...{ name: "eth0", index: 2, type: 1, mac: "02:00:00:00:00:01", mtu: 1500 },
        ...{ up: true, running: true, loopback: false, group: 0, altNames: [], promiscuous: false },
    },
};
const object = (name: string, podCIDRs: readonly string[]) => ({ metadata: { name }, spec: { podCIDRs } });

describe("a change of the Node's podCIDRs", () => {
    it.each([
        ["the same", object("worker", ["10.10.1.0/24", "fd00:10::/64"])],
        ["the same in other words", object("worker", ["10.10.1.0/24", "FD00:10:0::/64"])],
        ["none for now", object("worker", [])],
        ["what cannot be read", object("worker", ["10.10.1.0"])],
        ["those of another Node", object("other", ["10.10.2.0/24"])],
    ])("%s is none", (_, changed) => expect(() => refuseOtherPodCidrs(changed, node)).not.toThrow());

    it("is told with both", () => {
        expect(() => refuseOtherPodCidrs(object("worker", ["10.10.2.0/24"]), node)).toThrow(
            /from 10\.10\.1\.0\/24,fd00:10::\/64 to 10\.10\.2\.0\/24/,
        );
    });
});
