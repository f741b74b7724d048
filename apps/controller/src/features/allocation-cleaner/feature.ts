import { type Feature } from "../../platform/feature.ts";
import { poolComponents, type PoolPlatform } from "../../platform/pool-platform.ts";
import { AllocationCleaner, type AllocationCleanerOptions } from "./allocation-cleaner.ts";

/**
 * Returns the feature that releases allocations that their Node cannot release, see AllocationCleaner, at the interval
 * of `ipam.cleanInterval`. `options`: as those of AllocationCleaner.
 */
export function allocationCleaner(
    platform: PoolPlatform,
    options: Pick<AllocationCleanerOptions, "goneMs"> = {},
): Feature {
    const components = poolComponents(platform, "allocation-cleaner");
    const { cleanInterval: intervalMs } = platform.config.ipam;
    return {
        name: "allocation-cleaner",
        lead: (term) => new AllocationCleaner(components, { ...options, intervalMs }).run(term),
    };
}
