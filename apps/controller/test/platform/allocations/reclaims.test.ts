import { expect, it } from "@jest/globals";
import { Metrics } from "@antrea/runtime";
import { reclaimMetrics } from "../../../src/platform/allocations/index.ts";

it("the number of candidates is that of the latest term, whenever the former one ends", async () => {
    const metrics = new Metrics({ processMetrics: false });
    const leaks = async (): Promise<readonly string[]> =>
        (await metrics.text()).split("\n").filter((line) => line.startsWith("antrea_controller_ippool_leaks{"));
    const reclaims = reclaimMetrics(metrics);
    const former = reclaims.watch("node-gone", () => 1);
    const latest = reclaims.watch("node-gone", () => 2);
    former[Symbol.dispose]();
    expect(await leaks()).toEqual(['antrea_controller_ippool_leaks{reason="node-gone"} 2']);
    latest[Symbol.dispose]();
    expect(await leaks()).toEqual([]);
});
