import {
    familyBits,
    formatIp,
    formatPrefix,
    ipFromBytes,
    ipToBytes,
    prefixOf,
    type Family,
    type IpAddress,
} from "@antrea/ip";
import { badArgument, NetlinkError } from "../errors.ts";
import { type NextHop, type Route, type RouteFilter, type RouteMetrics, type RouteOptions } from "../types.ts";
import { checkedLength, familyNumber, familyOf } from "./address.ts";
import { Attributes, listAttributes, textOf as attributeText } from "./attributes.ts";
import { Reader, Writer } from "./bytes.ts";
import {
    MessageFlag,
    MessageType,
    RouteAttribute,
    RouteFlag,
    RouteProtocol,
    RouteScope,
    RouteTable,
    RouteType,
} from "./constants.ts";
import { linkIndex } from "./link.ts";
import { APPEND, CREATE, CREATE_OR_REPLACE, type Query, type Request } from "./request.ts";

const TYPES_WITHOUT_LINK: readonly number[] = [
    RouteType.BLACKHOLE,
    RouteType.UNREACHABLE,
    RouteType.PROHIBIT,
    RouteType.THROW,
];

/** USER_HZ: the unit of the remaining lifetime of a route. */
const TICKS_A_SECOND = 100;

/** sizeof(struct rtnexthop). */
const NEXT_HOP_BYTES = 8;

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

/**
 * The query for the routes of one family that fit the filter (its `family` is not read), which the kernel applies; a
 * list, for `Exchange.dump`. The kernel answers `ENOENT` for a table and `ENODEV` for a link that does not exist.
 * Throws `NetlinkError` `BAD_ARGUMENT` for a number of the filter that is not valid.
 */
export function queryRoutes(family: Family, filter: RouteFilter): Query {
    const table = filter.table ?? 0;
    const body = new Writer({ object: () => `the filter of IPv${family} routes` })
        .u8(familyNumber(family))
        .u8(0)
        .u8(0)
        .u8(0)
        .u8(shortTable(table))
        .u8(filter.protocol ?? 0, "protocol")
        .u8(0)
        .u8(0)
        .u32(0);
    if (filter.dev !== undefined) body.attributeU32(RouteAttribute.OIF, linkIndex(filter.dev));
    if (table > 0xff) body.attributeU32(RouteAttribute.TABLE, table);
    return {
        type: MessageType.GETROUTE,
        flags: MessageFlag.DUMP,
        body: body.finish(),
        label: `list IPv${family} routes`,
    };
}

/**
 * The request that adds a route; the kernel answers `EEXIST` if one has the same destination, table and metric. Throws as
 * `replaceRoute`.
 */
export function addRoute(options: RouteOptions): Request {
    return { ...newRoute(options), flags: CREATE, label: `add ${textOf(options)}` };
}

/**
 * The request that adds a route, or replaces one with the same destination, table and metric. Throws `NetlinkError`
 * `BAD_ARGUMENT`: no link, a number that is not valid, or a default route of no family.
 */
export function replaceRoute(options: RouteOptions): Request {
    return { ...newRoute(options), flags: CREATE_OR_REPLACE, label: `replace ${textOf(options)}` };
}

/**
 * The request that adds a route beside others with the same destination, table and metric; the kernel answers `EEXIST`
 * if an identical one exists. Throws as `replaceRoute`.
 */
export function appendRoute(options: RouteOptions): Request {
    return { ...newRoute(options), flags: APPEND, label: `append ${textOf(options)}` };
}

function newRoute(options: RouteOptions): Pick<Request, "type" | "body"> {
    const type = options.type ?? RouteType.UNICAST;
    if (options.dev === undefined && !TYPES_WITHOUT_LINK.includes(type)) {
        throw badArgument(
            `dev of ${textOf(options)}`,
            options.dev,
            "the index of a link is needed for this route type",
        );
    }
    const body = rtmsg(options, { type, protocol: options.protocol ?? RouteProtocol.STATIC, scope: scopeOf(options) });
    const { mtu } = options;
    const metrics = Object.entries({
        ...options.metrics,
        ...(mtu === undefined ? {} : { [RouteAttribute.METRIC_MTU]: mtu }),
    });
    if (metrics.length > 0) {
        body.nest(RouteAttribute.METRICS, () => {
            for (const [number, value] of metrics) {
                const type = Number(number);
                const what = type === RouteAttribute.METRIC_MTU ? "mtu" : "metrics";
                if (typeof value === "number") body.attributeU32(type, value, what);
                else body.attributeText(type, value);
            }
        });
    }
    if (options.realms !== undefined) body.attributeU32(RouteAttribute.FLOW, options.realms, "realms");
    if (options.expiresSeconds !== undefined) {
        body.attributeU32(RouteAttribute.EXPIRES, options.expiresSeconds, "expiresSeconds");
    }
    if (options.preference !== undefined) body.attributeU8(RouteAttribute.PREF, options.preference, "preference");
    return { type: MessageType.NEWROUTE, body: body.finish() };
}

/**
 * The request that deletes the first route that fits, as `Netlink.deleteRoute` describes; absence of the route or link
 * is no failure. Throws `NetlinkError` `BAD_ARGUMENT` for a number that is not valid, or a default route of no family.
 */
export function deleteRoute(options: RouteOptions): Request {
    const body = rtmsg(options, {
        type: options.type ?? 0,
        protocol: options.protocol ?? 0,
        scope: options.scope ?? RouteScope.NOWHERE,
    });
    return {
        type: MessageType.DELROUTE,
        flags: 0,
        body: body.finish(),
        label: `delete ${textOf(options)}`,
        absentCodes: ["ESRCH", "ENODEV"],
    };
}

function rtmsg(
    options: RouteOptions,
    fields: { readonly type: number; readonly protocol: number; readonly scope: number },
): Writer {
    const { dst, via, dev, src, metric } = options;
    const family = familyOfRoute(options);
    const table = options.table ?? RouteTable.MAIN;
    const length = dst === "default" ? 0 : dst.length;
    const body = new Writer({ object: () => textOf(options) })
        .u8(familyNumber(family))
        .u8(length, "prefix length")
        .u8(options.from?.length ?? 0, "source prefix length")
        .u8(options.tos ?? 0, "tos")
        .u8(shortTable(table))
        .u8(fields.protocol, "protocol")
        .u8(fields.scope, "scope")
        .u8(fields.type, "type")
        .u32(options.onlink === true ? RouteFlag.ONLINK : 0);
    if (dst !== "default" && length > 0) {
        body.attribute(RouteAttribute.DST, ipToBytes({ family, value: dst.base }));
    }
    if (options.from !== undefined) {
        body.attribute(RouteAttribute.SRC, ipToBytes({ family, value: options.from.base }));
    }
    if (via !== undefined) gatewayAttribute(body, family, via);
    if (dev !== undefined) body.attributeU32(RouteAttribute.OIF, linkIndex(dev));
    if (src !== undefined) body.attribute(RouteAttribute.PREFSRC, ipToBytes(src));
    if (metric !== undefined) body.attributeU32(RouteAttribute.PRIORITY, metric, "metric");
    if (table > 0xff) body.attributeU32(RouteAttribute.TABLE, table);
    return body;
}

function gatewayAttribute(body: Writer, family: Family, via: IpAddress): void {
    if (via.family === family) {
        body.attribute(RouteAttribute.GATEWAY, ipToBytes(via));
    } else {
        body.nest(RouteAttribute.VIA, () => body.u16(familyNumber(via.family)).bytes(ipToBytes(via)));
    }
}

function familyOfRoute(options: RouteOptions): Family {
    const family =
        options.dst === "default" ? (options.family ?? options.via?.family ?? options.src?.family) : options.dst.family;
    if (family !== undefined) return family;
    throw badArgument(
        "family of the default route",
        undefined,
        "4 or 6 is needed if neither via nor src determines it",
    );
}

/** rtm_scope of a new route; IPv6 has none. */
function scopeOf(options: RouteOptions): number {
    if (options.scope !== undefined) return options.scope;
    if (familyOfRoute(options) === 6 || options.via !== undefined) return RouteScope.UNIVERSE;
    if (options.type === RouteType.LOCAL) return RouteScope.HOST;
    return options.dev === undefined ? RouteScope.UNIVERSE : RouteScope.LINK;
}

/** rtm_table has 8 bits; larger numbers go into RTA_TABLE, with "unspecified" here. */
function shortTable(table: number): number {
    if (!Number.isInteger(table) || table < 0 || table > 0xffffffff) {
        throw badArgument("table of a route", table, "a 32-bit number expected");
    }
    return table > 0xff ? 0 : table;
}

function textOf(options: RouteOptions): string {
    const { dst, via, dev, table } = options;
    const parts = [
        `route ${dst === "default" ? "default" : formatPrefix(dst)}`,
        via === undefined ? "" : ` via ${formatIp(via)}`,
        dev === undefined ? "" : ` on link ${dev}`,
        table === undefined ? "" : ` in table ${table}`,
    ];
    return parts.join("");
}
