import { type Feature } from "../../platform/feature.ts";
import { poolComponents, type PoolPlatform } from "../../platform/pool-platform.ts";
import { AllocationCleaner, type AllocationCleanerOptions } from "./claim-cleaner.ts";

/**
 * Returns the feature that releases allocations that their Node cannot release, see AllocationCleaner, at the interval
 * of `ipam.cleanInterval`. `options`: as those of AllocationCleaner.
 */
export function allocationCleaner(
    platform: PoolPlatform,
    options: Pick<AllocationCleanerOptions, "goneMs"> = {},
): Feature {
    const components = poolComponents(platform, "claim-cleaner");
    const { cleanInterval: intervalMs } = platform.config.ipam;
    return {
        name: "claim-cleaner",
        lead: (term) => new AllocationCleaner(components, { ...options, intervalMs }).run(term),
    };
}
