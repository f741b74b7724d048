import { describe, expect, it } from "@jest/globals";
import { flowKey } from "@antrea/openflow";
import { flowsOfNode } from "../flows/node-flows.ts";

describe("flows of a Node", () => {
    it.each([5_000, 5_001, 15_000])("are %d, none of which replaces another", (count) => {
        const flows = flowsOfNode(count).flatMap(({ set }) => set.flows);
        expect(flows).toHaveLength(count);
        expect(new Set(flows.map((flow) => flowKey(flow))).size).toBe(count);
    });

    it("are those of the pipeline and of 110 Pods at least", () => {
        expect(() => flowsOfNode(100)).toThrow("more than 100 flows");
    });
});
