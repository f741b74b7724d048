import { type Feature } from "../../platform/feature.ts";
import { poolComponents, watching, type PoolPlatform } from "../../platform/pool-platform.ts";
import { Reservations } from "./reservations.ts";
import { SetCache } from "./set-cache.ts";

/**
 * Returns the feature that reserves, while leading, addresses for the ordinals of StatefulSets that use IPPools; see
 * Reservations. Every replica watches StatefulSets and Namespaces.
 */
export function reservations(platform: PoolPlatform): Feature {
    const { kube, clock, config, logger } = platform;
    const sets = new SetCache({ api: kube.api, clock, logger: logger.child("reservations") });
    const components = { ...poolComponents(platform, "reservations"), sets };
    const { cleanInterval: intervalMs } = config.ipam;
    return {
        name: "reservations",
        parts: [watching(sets)],
        lead: (term) => new Reservations(components, { intervalMs }).run(term),
    };
}
