/** Numbers of the well-known routing tables (rtnetlink(7), RT_TABLE_*); a number has up to 32 bits. */
export const RouteTable = { DEFAULT: 253, MAIN: 254, LOCAL: 255 } as const;

/** Origin of a route (rtnetlink(7), RTPROT_*). */
export const RouteProtocol = { UNSPEC: 0, REDIRECT: 1, KERNEL: 2, BOOT: 3, STATIC: 4, RA: 9, DHCP: 16 } as const;

/** Scope of a destination: its distance (rtnetlink(7), RT_SCOPE_*). */
export const RouteScope = { UNIVERSE: 0, SITE: 200, LINK: 253, HOST: 254, NOWHERE: 255 } as const;

/** Type of a route: what the kernel does with its packets (rtnetlink(7), RTN_*). */
export const RouteType = {
    UNICAST: 1,
    LOCAL: 2,
    BROADCAST: 3,
    ANYCAST: 4,
    MULTICAST: 5,
    BLACKHOLE: 6,
    UNREACHABLE: 7,
    PROHIBIT: 8,
    THROW: 9,
} as const;

/** Attributes of a route (RTA_*, rtnetlink(7), linux/rtnetlink.h), and RTAX_MTU and RTAX_CC_ALGO within RTA_METRICS. */
export const RouteAttribute = {
    DST: 1,
    SRC: 2,
    OIF: 4,
    GATEWAY: 5,
    PRIORITY: 6,
    PREFSRC: 7,
    METRICS: 8,
    MULTIPATH: 9,
    FLOW: 11,
    CACHEINFO: 12,
    TABLE: 15,
    VIA: 18,
    PREF: 20,
    ENCAP_TYPE: 21,
    EXPIRES: 23,
    NH_ID: 30,
    METRIC_MTU: 2,
    METRIC_CC_ALGO: 16,
} as const;

/** Bits of rtm_flags (linux/rtnetlink.h): RTNH_F_ONLINK, which next hops have too, and RTM_F_CLONED. */
export const RouteFlag = { ONLINK: 0x4, CLONED: 0x200 } as const;

/** USER_HZ: the unit of the remaining lifetime of a route. */
export const TICKS_A_SECOND = 100;

/** sizeof(struct rtnexthop). */
export const NEXT_HOP_BYTES = 8;
