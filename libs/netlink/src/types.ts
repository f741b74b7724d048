import { type Family, type IpAddress, type Prefix } from "@antrea/ip";

/**
 * A MAC address as lower-case text with colons, "aa:bb:cc:dd:ee:ff", so that addresses compare with `===`. Options also
 * take upper case.
 */
export type MacText = string;

/**
 * A network interface: struct ifinfomsg and its IFLA_* attributes (rtnetlink(7)); `index` is at least 1, `mtu` in
 * bytes. Optional members are absent if it has none.
 */
export interface Link {
    readonly index: number;
    readonly name: string;
    /** IFLA_INFO_KIND ("veth", "tun", "vxlan", ...); physical NICs have none. */
    readonly kind?: string;
    /** ARPHRD_*: 1 Ethernet, 772 loopback. */
    readonly type: number;
    /** Empty if the link has no 6-byte address. */
    readonly mac: MacText;
    readonly mtu: number;
    /** IFF_UP: the administrative state. */
    readonly up: boolean;
    /** IFF_RUNNING: the operational state; it has carrier. */
    readonly running: boolean;
    readonly loopback: boolean;
    /** IFF_PROMISC, as a program set it with this flag; sockets that enable promiscuous mode do not show here. */
    readonly promiscuous: boolean;
    /** Index of the bridge or bond it is a port of. */
    readonly master?: number;
    /** IFLA_LINK: index of the other end of a veth (in the namespace `peerNetnsId`), or of the device below. */
    readonly peerIndex?: number;
    /**
     * IFLA_LINK_NETNSID: present if the other end is in another namespace. It is the id of that namespace in the
     * namespace of the socket: `Netlink.netnsId` returns it for a path.
     */
    readonly peerNetnsId?: number;
    /**
     * IFLA_PARENT_DEV_NAME: the device on a bus that the link belongs to, by its name in sysfs, such as 0000:af:06.0. Links
     * that a program made have none; neither has any link before Linux 5.14.
     */
    readonly parentDevice?: string;
    /** IFLA_IFALIAS, at most 255 bytes. */
    readonly alias?: string;
    /** IFLA_GROUP; default 0. */
    readonly group: number;
    /** Alternative names (IFLA_ALT_IFNAME). */
    readonly altNames: readonly string[];
}

/**
 * The end of a veth pair in the namespace at `netnsPath`, such as "/var/run/netns/x". The kernel creates it down. Name,
 * MAC address and MTU have the limits of `VethOptions`.
 */
export interface VethPeerOptions {
    readonly name: string;
    readonly mac: MacText;
    readonly mtu: number;
    readonly netnsPath: string;
}

/**
 * A veth pair to create: the end in this namespace, and `peer`. Names have 1 to 15 bytes without `/`, `:` and white
 * space, an MTU is 68 to 65535 bytes.
 */
export interface VethOptions {
    readonly name: string;
    readonly mac: MacText;
    readonly mtu: number;
    /** At most 255 bytes of UTF-8. */
    readonly alias?: string | undefined;
    /** Interface group (IFLA_GROUP) of this end. Default 0. */
    readonly group?: number | undefined;
    /** Create this end up. Default false. */
    readonly up?: boolean | undefined;
    /**
     * Transmit and receive queues of both ends, 1 to 4096. Default: that of the kernel, one for each possible CPU. Each
     * queue is an object in sysfs with an event of its own, so one queue makes creation faster; more are of use with
     * XDP only.
     */
    readonly queues?: number | undefined;
    readonly peer: VethPeerOptions;
}

/**
 * Changes of a link; members that are left out stay. Names have 1 to 15 bytes, an alias at most 255, an MTU is 68 to
 * 65535 bytes, a group 0 to 2^31 - 1. The kernel answers `EEXIST` for a name in use.
 */
export interface LinkChanges {
    readonly up?: boolean | undefined;
    readonly promiscuous?: boolean | undefined;
    readonly mtu?: number | undefined;
    readonly mac?: MacText | undefined;
    readonly name?: string | undefined;
    /** "" removes it. */
    readonly alias?: string | undefined;
    readonly group?: number | undefined;
    /** Index of the bridge or bond that it becomes a port of; 0 for none. */
    readonly master?: number | undefined;
    /** Moves the link into the network namespace at this path. */
    readonly netnsPath?: string | undefined;
}

/**
 * An address of a link: struct ifaddrmsg and its IFA_* attributes (rtnetlink(7)); `index` is the link's. With `peer`,
 * `prefixLength` is that of the peer. Optional members are absent if it has none.
 */
export interface Address {
    readonly index: number;
    readonly ip: IpAddress;
    readonly prefixLength: number;
    /** The other end of a point-to-point link. */
    readonly peer?: IpAddress;
    /** RouteScope value. */
    readonly scope: number;
    /** IPv4: the name of the link, or a text that begins with it. */
    readonly label?: string;
    /** IFA_F_PERMANENT: it has no lifetime from a lease or router advertisement. */
    readonly permanent: boolean;
    /** IFA_F_SECONDARY of IPv4: another address of the same prefix is primary. False for IPv6. */
    readonly secondary: boolean;
    /** IFA_F_TENTATIVE: duplicate address detection is not complete (IPv6). */
    readonly tentative: boolean;
    /** IFA_F_DADFAILED: duplicate address detection found the address in use (IPv6). */
    readonly dadFailed: boolean;
    /** All bits, those of AddressFlag and others. */
    readonly flags: number;
    /** Broadcast address (IPv4). */
    readonly broadcast?: IpAddress;
    /** Remaining lifetime; absent if unlimited. */
    readonly lifetime?: AddressLifetime;
    /** IFA_RT_PRIORITY: metric of the route to its prefix; absent for the kernel's default. */
    readonly metric?: number;
    /** IFA_PROTO, its origin (2: the kernel, from a router advertisement; 3: the kernel, link-local). */
    readonly protocol?: number;
}

/**
 * Lifetimes of an address in whole seconds, Infinity if unlimited. An address whose preferred lifetime has ended is not
 * used for new connections; one whose valid lifetime has ended is removed.
 */
export interface AddressLifetime {
    readonly preferredSeconds: number;
    readonly validSeconds: number;
}

/**
 * An address to add to a link; `index` is the link's. Members have the meaning of those in `Address`; without `metric`
 * and `protocol` the kernel chooses.
 */
export interface AddressOptions {
    readonly index: number;
    readonly ip: IpAddress;
    readonly prefixLength: number;
    /** IPv6: usable at once, without duplicate address detection. Without effect for IPv4. */
    readonly noDad?: boolean | undefined;
    /** RouteScope value; default universe, for 127.0.0.0/8 host. */
    readonly scope?: number | undefined;
    /** IFA_F_NOPREFIXROUTE: the kernel adds no route to the prefix. Default false. */
    readonly noPrefixRoute?: boolean | undefined;
    /** More bits of AddressFlag. Default none. */
    readonly flags?: number | undefined;
    /** The other end of a point-to-point link; `prefixLength` is then that of the peer. */
    readonly peer?: IpAddress | undefined;
    /** IPv4: default the last address of a prefix below /31 outside 127.0.0.0/8; "none" for none. */
    readonly broadcast?: IpAddress | "none" | undefined;
    /** IPv4: begins with the name of the link. Default: that name. */
    readonly label?: string | undefined;
    /** Default: unlimited. */
    readonly lifetime?: AddressLifetime | undefined;
    readonly metric?: number | undefined;
    readonly protocol?: number | undefined;
}

/**
 * Identifies an address to delete: its link, `ip` and `prefixLength` must be equal. An IPv4 address that has a peer
 * needs `peer`, of which the kernel compares the bits of the prefix; for IPv6 `peer` is not compared.
 */
export type AddressKey = Pick<AddressOptions, "index" | "ip" | "prefixLength" | "peer">;

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

/**
 * A routing rule (ip-rule(8)): struct fib_rule_hdr and FRA_*, as far as this library writes it. Rules of others may have
 * more selectors, which are not read.
 */
export interface Rule {
    readonly family: Family;
    /** FRA_PRIORITY: rules are tried in ascending order; 0 is the first, which leads to the table `local`. */
    readonly priority: number;
    /** The routing table; 0 for a rule with another action. */
    readonly table: number;
    /** The packet's mark under `mask`; both 0 if the mark does not count. */
    readonly mark: number;
    readonly mask: number;
    /** RouteProtocol value: the origin of the rule. */
    readonly protocol: number;
}

/** A neighbour entry (ARP or ND): struct ndmsg and its NDA_* attributes (rtnetlink(7)); `index` is the link's. */
export interface Neighbour {
    readonly index: number;
    readonly ip: IpAddress;
    /** Absent while it is being resolved, or when that failed. */
    readonly mac?: MacText;
    /** Bits of NeighbourState. */
    readonly state: number;
    /** All bits (NTF_*), those of NeighbourFlag and others. */
    readonly flags: number;
}

/** A neighbour entry to add to a link; `index` is the link's. */
export interface NeighbourOptions {
    readonly index: number;
    readonly ip: IpAddress;
    readonly mac: MacText;
    /** NeighbourState value; default permanent. */
    readonly state?: number | undefined;
    /** Bits of NeighbourFlag. Default none. */
    readonly flags?: number | undefined;
}

/** Identifies a neighbour entry: the index of its link, and its address. */
export type NeighbourKey = Pick<NeighbourOptions, "index" | "ip">;

/** Kinds of objects whose changes `Netlink.subscribe` reports. */
export type EventGroup = "link" | "address" | "route" | "neighbour";

/** Options of `Netlink.subscribe`. */
export interface SubscribeOptions {
    /**
     * Bytes of events, some 1 KiB each in the kernel's count, that the kernel holds for the socket before it drops
     * events and `overrun` is reported. Default 8 MiB, which is some seconds of a busy machine. Without CAP_NET_ADMIN,
     * net.core.rmem_max limits it.
     */
    readonly receiveBufferBytes?: number | undefined;
}

/**
 * One change in the namespace, with the object as it was then; `deleted` is false for an object that was added or
 * changed. `overrun`: the kernel dropped events because they were not read fast enough, so everything must be listed
 * again. `error`: an event could not be decoded, or reading has ended (`fatal`: the last event).
 */
export type NetlinkEvent =
    | { readonly type: "link"; readonly deleted: boolean; readonly link: Link }
    | { readonly type: "address"; readonly deleted: boolean; readonly address: Address }
    | { readonly type: "route"; readonly deleted: boolean; readonly route: Route }
    | { readonly type: "neighbour"; readonly deleted: boolean; readonly neighbour: Neighbour }
    | { readonly type: "overrun" }
    | { readonly type: "error"; readonly error: Error; readonly fatal: boolean };
