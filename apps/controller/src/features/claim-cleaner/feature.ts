import { type Feature } from "../../platform/feature.ts";
import { poolComponents, type PoolPlatform } from "../../platform/pool-platform.ts";
import { ClaimCleaner, type ClaimCleanerOptions } from "./claim-cleaner.ts";

/** Releases allocations that their Node cannot release. */
export function claimCleaner(platform: PoolPlatform, options: Pick<ClaimCleanerOptions, "goneMs"> = {}): Feature {
    const components = poolComponents(platform, "claim-cleaner");
    const { cleanInterval: intervalMs } = platform.config.ipam;
    return {
        name: "claim-cleaner",
        lead: (term) => new ClaimCleaner(components, { ...options, intervalMs }).run(term),
    };
}
