import { formatIp, formatPrefix, ipToBytes, type Family, type IpAddress } from "@antrea/ip";
import { badArgument } from "../errors.ts";
import { type RouteOptions } from "../types/route.ts";
import { familyNumber } from "./family.ts";
import { linkIndex } from "./link-checks.ts";
import { RouteAttribute, RouteFlag, RouteScope, RouteTable, RouteType } from "./route-constants.ts";
import { Writer } from "./writer.ts";

/** The types of routes that lead to no link. */
export const TYPES_WITHOUT_LINK: readonly number[] = [
    RouteType.BLACKHOLE,
    RouteType.UNREACHABLE,
    RouteType.PROHIBIT,
    RouteType.THROW,
];

/**
 * Writes struct rtmsg with its attributes and returns the writer. Throws `NetlinkError` `BAD_ARGUMENT` for addresses of several
 * families, or numbers out of range.
 */
export function rtmsg(
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
export function scopeOf(options: RouteOptions): number {
    if (options.scope !== undefined) return options.scope;
    if (familyOfRoute(options) === 6 || options.via !== undefined) return RouteScope.UNIVERSE;
    if (options.type === RouteType.LOCAL) return RouteScope.HOST;
    return options.dev === undefined ? RouteScope.UNIVERSE : RouteScope.LINK;
}

/** rtm_table has 8 bits; larger numbers go into RTA_TABLE, with "unspecified" here. */
export function shortTable(table: number): number {
    if (!Number.isInteger(table) || table < 0 || table > 0xffffffff) {
        throw badArgument("table of a route", table, "a 32-bit number expected");
    }
    return table > 0xff ? 0 : table;
}

/** Describes a route in labels and errors. */
export function textOf(options: RouteOptions): string {
    const { dst, via, dev, table } = options;
    const parts = [
        `route ${dst === "default" ? "default" : formatPrefix(dst)}`,
        via === undefined ? "" : ` via ${formatIp(via)}`,
        dev === undefined ? "" : ` on link ${dev}`,
        table === undefined ? "" : ` in table ${table}`,
    ];
    return parts.join("");
}
