import { type Family } from "@antrea/ip";
import { badArgument } from "../errors.ts";
import { type RouteFilter, type RouteOptions } from "../types/route.ts";
import { MessageFlag, MessageType } from "./constants.ts";
import { familyNumber } from "./family.ts";
import { linkIndex } from "./link-checks.ts";
import { APPEND, CREATE, CREATE_OR_REPLACE, type Query, type Request } from "./request.ts";
import { RouteAttribute, RouteProtocol, RouteScope, RouteType } from "./route-constants.ts";
import { rtmsg, scopeOf, shortTable, textOf, TYPES_WITHOUT_LINK } from "./rtmsg.ts";
import { Writer } from "./writer.ts";

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
