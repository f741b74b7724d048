import { describe, expect, it } from "@jest/globals";
import {
    formatCachedNode,
    parseGoneAt,
    parseCachedNode,
    cachedNodeAfter,
} from "../../../../src/platform/node/config/index.ts";

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
        expect(parseCachedNode(formatCachedNode(node), "worker-1")).toEqual({
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
        ["another Node's", formatCachedNode({ ...node, metadata: { name: "worker-2" } })],
        ["one without podCIDRs", formatCachedNode({ ...node, spec: {} })],
    ])("is not there for %s", (_name, text) => {
        expect(parseCachedNode(text, "worker-1")).toBeUndefined();
    });
});

describe("what is remembered after the Node changed", () => {
    const name = { nodeName: "worker-1" };
    const there = formatCachedNode(node);
    const gone = formatCachedNode(node, 5_000);

    it("of one that is gone is when, by what was heard first, and its podCIDRs", () => {
        expect(cachedNodeAfter(there, undefined, { ...name, goneAt: 5_000 })).toBe(gone);
        expect(cachedNodeAfter(gone, undefined, { ...name, goneAt: 9_000 })).toBe(gone);
        expect(parseGoneAt(gone, "worker-1")).toBe(5_000);
        expect(parseCachedNode(gone, "worker-1")).toEqual(parseCachedNode(there, "worker-1"));
    });

    it("of one that is back is that it is there, also while it has no podCIDRs", () => {
        expect(cachedNodeAfter(gone, node, { ...name, goneAt: 9_000 })).toBe(there);
        expect(cachedNodeAfter(gone, { ...node, spec: {} }, { ...name, goneAt: 9_000 })).toBe(there);
        expect(parseGoneAt(there, "worker-1")).toBeUndefined();
    });

    it("of one that never had podCIDRs is nothing, nor of another Node", () => {
        expect(cachedNodeAfter(undefined, undefined, { ...name, goneAt: 1 })).toBeUndefined();
        expect(cachedNodeAfter(gone, undefined, { nodeName: "worker-2", goneAt: 1 })).toBeUndefined();
        expect(parseGoneAt(gone, "worker-2")).toBeUndefined();
        expect(parseGoneAt(undefined, "worker-1")).toBeUndefined();
        expect(parseGoneAt(there.replace("}", ',"goneAt":"yesterday"}'), "worker-1")).toBeUndefined();
    });
});
