import { type IpPoolUsage } from "@antrea/crd";
import { type Feature } from "../../platform/feature.ts";
import { poolComponents, type PoolPlatform } from "../../platform/pool-platform.ts";
import { poolMetrics } from "./metrics.ts";
import { type PacerOptions } from "./pacer.ts";
import { PoolStatusWriter } from "./pool-status.ts";

const none: ReadonlyMap<string, IpPoolUsage> = new Map();

/**
 * Returns the feature that keeps usage, conditions and hints in the status of IPPools up to date, and exports the usage
 * as metrics, both only while leading. Once for a registry of metrics. `options`: delays of the updates.
 */
export function poolStatus(platform: PoolPlatform, options: PacerOptions = {}): Feature {
    const components = poolComponents(platform, "pool-status");
    let current: PoolStatusWriter | undefined;
    poolMetrics(platform.metrics, () => current?.usages ?? none);
    return {
        name: "pool-status",
        lead: async (term) => {
            current = new PoolStatusWriter(components, options);
            try {
                await current.run(term);
            } finally {
                current = undefined;
            }
        },
    };
}
