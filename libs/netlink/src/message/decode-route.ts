import { familyBits, ipFromBytes, prefixOf, type Family, type IpAddress } from "@antrea/ip";
import { NetlinkError } from "../errors.ts";
import { type NextHop, type Route, type RouteMetrics } from "../types/route.ts";
import { Attributes, listAttributes, textOf as attributeText } from "./attributes.ts";
import { checkedLength, familyOf } from "./family.ts";
import { Reader } from "./reader.ts";
import { NEXT_HOP_BYTES, RouteAttribute, RouteFlag, TICKS_A_SECOND } from "./route-constants.ts";

/**
 * Reads the payload of RTM_NEWROUTE and RTM_DELROUTE: struct rtmsg and RTA_*. Undefined for a family other than IPv4
 * and IPv6. Throws `NetlinkError` `SHORT_MESSAGE`, `BAD_MESSAGE`.
 */
export function decodeRoute(payload: Uint8Array): Route | undefined {
    const reader = new Reader(payload, "route");
    const family = familyOf(reader.u8());
    const length = reader.u8();
    const fromLength = reader.u8();
    const tos = reader.u8();
    const shortTable = reader.u8();
    const protocol = reader.u8();
    const scope = reader.u8();
    const type = reader.u8();
    const flags = reader.u32();
    if (family === undefined) return undefined;
    const attributes = new Attributes(reader.rest(), "route");
    const dst = attributes.ip(RouteAttribute.DST, family) ?? { family, value: 0n };
    const via = gateway(attributes, family);
    const dev = attributes.u32(RouteAttribute.OIF);
    const src = attributes.ip(RouteAttribute.PREFSRC, family);
    const mtu = attributes.nested(RouteAttribute.METRICS)?.u32(RouteAttribute.METRIC_MTU);
    const metrics = metricsOf(attributes.bytes(RouteAttribute.METRICS));
    const from = attributes.ip(RouteAttribute.SRC, family);
    const expiresSeconds = expiryOf(attributes.bytes(RouteAttribute.CACHEINFO));
    const preference = attributes.bytes(RouteAttribute.PREF)?.[0] ?? 0;
    const realms = attributes.u32(RouteAttribute.FLOW);
    const encapType = encapTypeOf(attributes.bytes(RouteAttribute.ENCAP_TYPE));
    const nextHopId = attributes.u32(RouteAttribute.NH_ID);
    return {
        family,
        dst: prefixOf(dst, checkedLength(length, family, "route")),
        ...(via !== undefined && { via }),
        ...(dev !== undefined && { dev }),
        ...(src !== undefined && { src }),
        table: attributes.u32(RouteAttribute.TABLE) ?? shortTable,
        protocol,
        scope,
        type,
        metric: attributes.u32(RouteAttribute.PRIORITY) ?? 0,
        ...(mtu !== undefined && { mtu }),
        onlink: (flags & RouteFlag.ONLINK) !== 0,
        cloned: (flags & RouteFlag.CLONED) !== 0,
        nextHops: nextHops(attributes.bytes(RouteAttribute.MULTIPATH), family),
        ...(metrics !== undefined && { metrics }),
        ...(tos !== 0 && { tos }),
        ...(from !== undefined && { from: prefixOf(from, checkedLength(fromLength, family, "route, source")) }),
        ...(expiresSeconds !== undefined && { expiresSeconds }),
        ...(preference !== 0 && { preference }),
        ...(realms !== undefined && { realms }),
        ...(encapType !== undefined && { encapType }),
        ...(nextHopId !== undefined && { nextHopId }),
    };
}

function metricsOf(list: Uint8Array | undefined): RouteMetrics | undefined {
    if (list === undefined || list.length === 0) return undefined;
    return Object.fromEntries(
        listAttributes(list, "route, metrics").map(([type, payload]) => [
            type,
            type === RouteAttribute.METRIC_CC_ALGO
                ? attributeText(payload)
                : new Reader(payload, "route, metric").u32(),
        ]),
    );
}

/** rta_expires, the third number of struct rta_cacheinfo: 0 is unlimited. An IPv4 route has none. */
function expiryOf(cacheInfo: Uint8Array | undefined): number | undefined {
    if (cacheInfo === undefined) return undefined;
    const reader = new Reader(cacheInfo, "route, expiry");
    reader.skip(8);
    const ticks = reader.i32();
    return ticks === 0 ? undefined : Math.max(0, Math.round(ticks / TICKS_A_SECOND));
}

function encapTypeOf(payload: Uint8Array | undefined): number | undefined {
    const type = payload === undefined ? 0 : new Reader(payload, "route, encapsulation").u16();
    return type === 0 ? undefined : type;
}

/** RTA_GATEWAY, or RTA_VIA where the gateway is of the other family: its family number, then the address. */
function gateway(attributes: Attributes, routeFamily: Family): IpAddress | undefined {
    const via = attributes.bytes(RouteAttribute.VIA);
    if (via === undefined) return attributes.ip(RouteAttribute.GATEWAY, routeFamily);
    const reader = new Reader(via, "route, gateway of another family");
    const family = familyOf(reader.u16());
    if (family === undefined) return undefined;
    return ipFromBytes(reader.bytes(familyBits(family) / 8));
}

/** struct rtnexthop one after the other, each with attributes of its own. */
function nextHops(list: Uint8Array | undefined, family: Family): readonly NextHop[] {
    if (list === undefined) return [];
    const reader = new Reader(list, "route, next hops");
    const found: NextHop[] = [];
    while (reader.remaining > 0) {
        const length = reader.u16();
        const flags = reader.u8();
        const weight = reader.u8() + 1;
        const dev = reader.u32();
        if (length < NEXT_HOP_BYTES) {
            throw new NetlinkError(
                "BAD_MESSAGE",
                "remote",
                `netlink route: a next hop of ${length} bytes; it has 8 at least`,
            );
        }
        const rest = reader.bytes(length - NEXT_HOP_BYTES);
        reader.skipPadding(length);
        const via = gateway(new Attributes(rest, "route, next hop"), family);
        found.push({ dev, weight, onlink: (flags & RouteFlag.ONLINK) !== 0, ...(via !== undefined && { via }) });
    }
    return found;
}
