import { type Family, type IpAddress, type Prefix } from "@antrea/ip";

/**
 * One next hop of a multipath route (RTA_MULTIPATH); `dev` is the index of its link, `via` the gateway, absent if the
 * destination is on the link. `onlink` is as in `RouteOptions`.
 */
export interface NextHop {
    readonly via?: IpAddress;
    readonly dev: number;
    /** Relative weight, 1 to 256. */
    readonly weight: number;
    readonly onlink: boolean;
}

/** A route: struct rtmsg and its RTA_* attributes (rtnetlink(7)). Optional members are absent if it has none. */
export interface Route {
    readonly family: Family;
    /** The default route is the prefix of length 0. */
    readonly dst: Prefix;
    /** The gateway (RTA_GATEWAY, RTA_VIA); an IPv4 route may have an IPv6 one. */
    readonly via?: IpAddress;
    /** Index of the link (RTA_OIF). */
    readonly dev?: number;
    /** Preferred source (RTA_PREFSRC). */
    readonly src?: IpAddress;
    readonly table: number;
    /** RouteProtocol value: the origin of the route. */
    readonly protocol: number;
    /** RouteScope value. */
    readonly scope: number;
    /** RouteType value. */
    readonly type: number;
    /** RTA_PRIORITY; 0 if absent. */
    readonly metric: number;
    /** RTAX_MTU, in bytes. */
    readonly mtu?: number;
    readonly onlink: boolean;
    /** IPv6: RTM_F_CLONED, a cache entry. */
    readonly cloned: boolean;
    /** Empty unless it is a multipath route. */
    readonly nextHops: readonly NextHop[];
    /** All of RTA_METRICS by number (RTAX_*), `mtu` too; absent if empty. Text is the congestion control. */
    readonly metrics?: RouteMetrics;
    /** IPv4: type of service. */
    readonly tos?: number;
    /** IPv6: it applies to packets with a source in this prefix. */
    readonly from?: Prefix;
    /** IPv6: seconds until the kernel removes it. */
    readonly expiresSeconds?: number;
    /** IPv6, RTA_PREF of RFC 4191: 1 high, 3 low; absent for medium. */
    readonly preference?: number;
    /** IPv4: realms, RTA_FLOW. */
    readonly realms?: number;
    /** RTA_ENCAP_TYPE: type of its lightweight tunnel. */
    readonly encapType?: number;
    /** RTA_NH_ID: it uses a next hop object. */
    readonly nextHopId?: number;
}

/** RTAX_* numbers (linux/rtnetlink.h) with their values of 32 bits; the value of RTAX_CC_ALGO (16) is text. */
export type RouteMetrics = Readonly<Record<number, number | string>>;

/**
 * A route to add or delete; members have the meaning of those in `Route`. The defaults are those of a route to add; see
 * `Netlink.deleteRoute` for one to delete.
 */
export interface RouteOptions {
    /** "default" takes its family from `family`, else from `via`, else from `src`. */
    readonly dst: Prefix | "default";
    /** Used for the destination "default" only. */
    readonly family?: Family | undefined;
    readonly via?: IpAddress | undefined;
    /** Index of the link; required to add a route unless its `type` has none (blackhole, unreachable, prohibit, throw). */
    readonly dev?: number | undefined;
    /**
     * RouteScope value. Default for IPv4: universe with `via`, else host for type local, else link with `dev`, universe
     * without.
     */
    readonly scope?: number | undefined;
    /** Preferred source. */
    readonly src?: IpAddress | undefined;
    /** Default 254 (main). */
    readonly table?: number | undefined;
    /** RouteProtocol value; default static. */
    readonly protocol?: number | undefined;
    /** RouteType value; default unicast. */
    readonly type?: number | undefined;
    /** Default: the kernel's (IPv4 0, IPv6 1024). */
    readonly metric?: number | undefined;
    /** `via` is reachable on `dev` even without a route to it (RTNH_F_ONLINK). Default false. */
    readonly onlink?: boolean | undefined;
    readonly mtu?: number | undefined;
    readonly metrics?: RouteMetrics | undefined;
    readonly tos?: number | undefined;
    readonly from?: Prefix | undefined;
    /** IPv6: seconds until the kernel removes it. Default: unlimited. */
    readonly expiresSeconds?: number | undefined;
    readonly preference?: number | undefined;
    readonly realms?: number | undefined;
}

/**
 * Selects the routes to list, those that fit all members; a member that is left out selects all. The kernel applies it.
 */
export interface RouteFilter {
    readonly family?: Family | undefined;
    readonly table?: number | undefined;
    /** Index of the link. */
    readonly dev?: number | undefined;
    /** RouteProtocol value. */
    readonly protocol?: number | undefined;
}
