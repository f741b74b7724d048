import { type Feature } from "../../platform/feature.ts";
import { poolComponents, type PoolPlatform } from "../../platform/pool-platform.ts";
import { GatewayReservations } from "./gateway-reservations.ts";
import { NodeAddressReservations } from "./node-address-reservations.ts";

/** Reserves the Nodes' own addresses in IPPools, and the gateways of IPPools, so that no Pod gets one. */
export function nodeAddresses(platform: PoolPlatform): Feature {
    const components = poolComponents(platform, "ip-pools");
    const options = { intervalMs: platform.config.ipam.cleanInterval };
    return {
        name: "node-addresses",
        lead: async (term) => {
            await Promise.all([
                new NodeAddressReservations(components, options).run(term),
                new GatewayReservations(components, options).run(term),
            ]);
        },
    };
}
