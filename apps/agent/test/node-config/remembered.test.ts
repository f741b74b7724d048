import { describe, expect, it } from "@jest/globals";
import { formatRemembered, parseRemembered } from "../../src/node-config/index.ts";

const node = {
    metadata: { name: "worker-1", uid: "u" },
    spec: { podCIDRs: ["10.244.1.0/24", "fd00:10:244:1::/64"] },
    status: {
        addresses: [
            { type: "InternalIP", address: "172.18.0.3" },
            { type: "Hostname", address: "worker-1" },
        ],
    },
};

describe("what is remembered of the own Node", () => {
    it("gives back podCIDRs and InternalIPs", () => {
        expect(parseRemembered(formatRemembered(node), "worker-1")).toEqual({
            metadata: { name: "worker-1" },
            spec: node.spec,
            status: { addresses: [{ type: "InternalIP", address: "172.18.0.3" }] },
        });
    });

    it.each([
        ["nothing", undefined],
        ["text that is no JSON", "10.244.1.0/24"],
        ["JSON of another shape", '{"name":"worker-1","podCIDRs":"10.244.1.0/24","internalIPs":[]}'],
        ["null", "null"],
        ["another Node's", formatRemembered({ ...node, metadata: { name: "worker-2" } })],
        ["one without podCIDRs", formatRemembered({ ...node, spec: {} })],
    ])("is not there for %s", (_name, text) => {
        expect(parseRemembered(text, "worker-1")).toBeUndefined();
    });
});
