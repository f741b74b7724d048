import type { NetlinkEvent } from "@antrea/netlink";

/**
 * Whether routes by the gateway may be gone after an event of the subscription to `link` and `route`: somebody deleted one of
 * this protocol (`rtm_protocol`), the gateway's link came or went up, whose routes and neighbour entries the kernel removes
 * silently, or events were lost. Pure function.
 */
export function mayHaveLostRoutes(
    event: NetlinkEvent,
    { gatewayName, protocol }: { readonly gatewayName: string; readonly protocol: number },
): boolean {
    if (event.type === "link") return event.link.name === gatewayName;
    if (event.type === "route") return event.deleted && event.route.protocol === protocol;
    return true;
}
