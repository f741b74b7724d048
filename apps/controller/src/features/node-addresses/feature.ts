import { type Feature } from "../../platform/feature.ts";
import { poolComponents, type PoolPlatform } from "../../platform/pool-platform.ts";
import { together } from "../../platform/together.ts";
import { GatewayReservations } from "./gateway-reservations.ts";
import { NodeAddressReservations } from "./node-address-reservations.ts";

/**
 * Returns the feature that reserves, while leading, the Nodes' own addresses in IPPools and the gateways of IPPools, so
 * that no Pod gets one; see NodeAddressReservations and GatewayReservations.
 */
export function nodeAddresses(platform: PoolPlatform): Feature {
    const components = poolComponents(platform, "node-addresses");
    const options = { intervalMs: platform.config.ipam.cleanInterval };
    return {
        name: "node-addresses",
        lead: (term) => {
            const nodes = new NodeAddressReservations(components, options);
            const gateways = new GatewayReservations(components, options);
            return together(term, [(signal) => nodes.run(signal), (signal) => gateways.run(signal)]);
        },
    };
}
