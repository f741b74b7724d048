import { expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import { GoneNodes } from "../../../src/features/ip-pools/gone-nodes.ts";
import { TestNodes } from "./support/test-agent.ts";

it("a Node is known to be gone since when, for as long as it stays away, and the last 256 of them", async () => {
    const began = Date.UTC(2026, 0, 1);
    const clock = new ManualClock(began);
    const nodes = TestNodes.of("a", "b");
    using gone = new GoneNodes({ nodes, clock });
    expect(gone.stateOf("a")).toEqual({ kind: "present" });
    expect(gone.stateOf("never")).toEqual({ kind: "gone", at: undefined });
    nodes.put("b", { taints: [{ key: "node.kubernetes.io/out-of-service", effect: "NoExecute" }] });
    expect(gone.stateOf("b")).toEqual({ kind: "out-of-service" });
    await clock.advance(5_000);
    nodes.remove("a");
    expect(gone.stateOf("a")).toEqual({ kind: "gone", at: began + 5_000 });
    nodes.put("a");
    expect(gone.stateOf("a")).toEqual({ kind: "present" });
    for (let at = 0; at < 256; at += 1) {
        nodes.put(`n${at}`);
        nodes.remove(`n${at}`);
    }
    expect(gone.stateOf("n0")).toEqual({ kind: "gone", at: began + 5_000 });
    nodes.remove("a");
    expect(gone.stateOf("n0")).toEqual({ kind: "gone", at: undefined });
    expect(gone.stateOf("n1")).toEqual({ kind: "gone", at: began + 5_000 });
});
