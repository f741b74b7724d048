import { expect, it } from "@jest/globals";
import { Metrics } from "@antrea/runtime";
import { ipamMetrics } from "../../../src/features/ip-pools/metrics.ts";

it("the metrics of pool allocation have the names that dashboards and alerts know", async () => {
    const factory = new Metrics({ processMetrics: false });
    const metrics = ipamMetrics(factory, {
        blockViews: () => 1,
        ownAllocations: () => 2,
        leakCandidates: () => 3,
        isolated: () => 4,
        poolChanged: () => 5,
    });
    metrics.claimed(0.2);
    metrics.failed("EXHAUSTED");
    metrics.conflict();
    for (let times = 0; times < 2; times += 1) metrics.retry();
    for (let times = 0; times < 3; times += 1) metrics.relist();
    for (let times = 0; times < 4; times += 1) metrics.leakFound();
    for (let times = 0; times < 5; times += 1) metrics.reclaimed();
    for (let times = 0; times < 6; times += 1) metrics.recordMended();
    for (let times = 0; times < 7; times += 1) metrics.heldElsewhere();
    const lines = (await factory.text()).split("\n");
    const samples = lines.filter((line) => line.startsWith("antrea_agent_ipam_") && !line.includes("_bucket"));
    expect(samples.map((line) => line.replace("antrea_agent_ipam_", "")).sort()).toEqual([
        "addresses_held_elsewhere_total 7",
        "block_views 1",
        "claim_conflicts_total 1",
        "claim_duration_seconds_count 1",
        "claim_duration_seconds_sum 0.2",
        "claims 2",
        'failures_total{reason="EXHAUSTED"} 1',
        "isolated_interfaces 4",
        "leak_candidates 3",
        "leaks_found_total 4",
        "pool_changed_addresses 5",
        "pool_relists_total 3",
        "reclaims_total 5",
        "records_mended_total 6",
        "request_retries_total 2",
    ]);
    expect(lines.filter((line) => line.startsWith("# HELP")).every((line) => / [A-Z].*\.$/.test(line))).toBe(true);
});
