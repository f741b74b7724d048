import { type Family, type IpAddress, type Prefix } from "@antrea/ip";

/** MAC addresses go in and out as lower-case text with colons, "aa:bb:cc:dd:ee:ff", so that they compare with `===`. */
export type MacText = string;

/** A network interface, struct ifinfomsg and its IFLA_* attributes (rtnetlink(7)). */
export interface Link {
    readonly index: number;
    readonly name: string;
    /** IFLA_INFO_KIND ("veth", "tun", "vxlan", ...); physical NICs have none. */
    readonly kind?: string;
    /** ARPHRD_*: 1 Ethernet, 772 loopback. */
    readonly type: number;
    /** Empty where the link has no 6-byte address. */
    readonly mac: MacText;
    readonly mtu: number;
    /** IFF_UP: switched on by the administrator. */
    readonly up: boolean;
    /** IFF_RUNNING: carrier is there too. */
    readonly running: boolean;
    readonly loopback: boolean;
    /** IFF_PROMISC: somebody set the flag; a program with a socket that asks for it does not show here. */
    readonly promiscuous: boolean;
    /** Index of the bridge or bond it is a port of. */
    readonly master?: number;
    /** IFLA_LINK: index of the other end of a veth (in the namespace `peerNetnsId`), or of the device below. */
    readonly peerIndex?: number;
    /**
     * IFLA_LINK_NETNSID: there if the other end is in another namespace. The id is that of the namespace of the socket:
     * `Netlink.netnsId` gives it for a path.
     */
    readonly peerNetnsId?: number;
    /** IFLA_IFALIAS, at most 255 bytes. */
    readonly alias?: string;
    /** IFLA_GROUP: 0 unless somebody set one. */
    readonly group: number;
    readonly altNames: readonly string[];
}

/** The end of a veth pair that is born in another namespace. It is born down: the kernel allows nothing else. */
export interface VethPeerOptions {
    readonly name: string;
    readonly mac: MacText;
    readonly mtu: number;
    readonly netnsPath: string;
}

export interface VethOptions {
    readonly name: string;
    readonly mac: MacText;
    readonly mtu: number;
    /** At most 255 bytes of UTF-8. */
    readonly alias?: string | undefined;
    /** Of this end; default 0. */
    readonly group?: number | undefined;
    /** Switch this end on at birth; default no. */
    readonly up?: boolean | undefined;
    /**
     * Transmit and receive queues of both ends, 1 to 4096; default: the kernel's, one for each possible CPU. Each is an
     * object in sysfs with an event of its own, so one makes creation faster; more are of use with XDP only.
     */
    readonly queues?: number | undefined;
    readonly peer: VethPeerOptions;
}

/** What to change of a link; what is left out stays. */
export interface LinkChanges {
    readonly up?: boolean | undefined;
    readonly promiscuous?: boolean | undefined;
    readonly mtu?: number | undefined;
    readonly mac?: MacText | undefined;
    readonly name?: string | undefined;
    /** "" removes it. */
    readonly alias?: string | undefined;
    readonly group?: number | undefined;
    /** Index of the bridge to join, 0 to leave it. */
    readonly master?: number | undefined;
    /** Move the link into this namespace. */
    readonly netnsPath?: string | undefined;
}

export interface Address {
    readonly index: number;
    readonly ip: IpAddress;
    readonly prefixLength: number;
    /** The other end of a point-to-point link. */
    readonly peer?: IpAddress;
    /** RouteScope value. */
    readonly scope: number;
    readonly label?: string;
    /** IFA_F_PERMANENT: not from a lease or router advertisement. */
    readonly permanent: boolean;
    readonly secondary: boolean;
    /** Duplicate address detection is not done yet (IPv6). */
    readonly tentative: boolean;
    readonly dadFailed: boolean;
    /** All bits of AddressFlag and those the kernel adds. */
    readonly flags: number;
    /** IPv4. */
    readonly broadcast?: IpAddress;
    /** How long it is valid from now on; not there when for ever. */
    readonly lifetime?: AddressLifetime;
    /** IFA_RT_PRIORITY: of the route to its prefix; not there for the kernel's default. */
    readonly metric?: number;
    /** IFA_PROTO: who made it (2: the kernel, from a router advertisement; 3: the kernel, link-local). */
    readonly protocol?: number;
}

/** In seconds, Infinity for "for ever". An address that is no longer preferred is not used for new connections. */
export interface AddressLifetime {
    readonly preferredSeconds: number;
    readonly validSeconds: number;
}

export interface AddressOptions {
    readonly index: number;
    readonly ip: IpAddress;
    readonly prefixLength: number;
    /** IPv6: usable at once, without duplicate address detection. Without effect for IPv4. */
    readonly noDad?: boolean | undefined;
    /** RouteScope value; default universe, for 127.0.0.0/8 host. */
    readonly scope?: number | undefined;
    /** IFA_F_NOPREFIXROUTE: no route to the prefix is made with it. */
    readonly noPrefixRoute?: boolean | undefined;
    /** More bits of AddressFlag. */
    readonly flags?: number | undefined;
    /** The other end of a point-to-point link; `prefixLength` is then that of the peer. */
    readonly peer?: IpAddress | undefined;
    /** IPv4: default the last address of the prefix; "none" for none. */
    readonly broadcast?: IpAddress | "none" | undefined;
    /** IPv4: begins with the name of the link. Default: that name. */
    readonly label?: string | undefined;
    /** Default: for ever. */
    readonly lifetime?: AddressLifetime | undefined;
    readonly metric?: number | undefined;
    readonly protocol?: number | undefined;
}

/** Which address to delete. */
export type AddressKey = Pick<AddressOptions, "index" | "ip" | "prefixLength" | "peer">;

/** One way of a route with several (RTA_MULTIPATH). */
export interface NextHop {
    readonly via?: IpAddress;
    readonly dev: number;
    /** From 1. */
    readonly weight: number;
    readonly onlink: boolean;
}

export interface Route {
    readonly family: Family;
    /** The default route is the prefix of length 0. */
    readonly dst: Prefix;
    readonly via?: IpAddress;
    readonly dev?: number;
    /** Preferred source (RTA_PREFSRC). */
    readonly src?: IpAddress;
    readonly table: number;
    /** RouteProtocol value: who made it. */
    readonly protocol: number;
    /** RouteScope value. */
    readonly scope: number;
    /** RouteType value. */
    readonly type: number;
    /** RTA_PRIORITY; 0 where the kernel gives none. */
    readonly metric: number;
    readonly mtu?: number;
    readonly onlink: boolean;
    /** IPv6: RTM_F_CLONED, a cache entry. */
    readonly cloned: boolean;
    /** Empty unless the route has several ways. */
    readonly nextHops: readonly NextHop[];
    /** All of RTA_METRICS by number (RTAX_*), `mtu` too; not there when empty. Text is the congestion control. */
    readonly metrics?: RouteMetrics;
    /** IPv4: type of service. */
    readonly tos?: number;
    /** IPv6: packets from here only. */
    readonly from?: Prefix;
    /** IPv6: seconds until it goes by itself. */
    readonly expiresSeconds?: number;
    /** IPv6, RTA_PREF of RFC 4191: 1 high, 3 low; not there for medium. */
    readonly preference?: number;
    /** IPv4: realms, RTA_FLOW. */
    readonly realms?: number;
    /** RTA_ENCAP_TYPE: it leads into a light-weight tunnel. */
    readonly encapType?: number;
    /** RTA_NH_ID: it uses a next hop object. */
    readonly nextHopId?: number;
}

/** RTAX_* numbers with their values. */
export type RouteMetrics = Readonly<Record<number, number | string>>;

export interface RouteOptions {
    /** "default" takes its family from `family`, else from `via`, else from `src`. */
    readonly dst: Prefix | "default";
    readonly family?: Family | undefined;
    readonly via?: IpAddress | undefined;
    /** Index of the link; needed unless `type` is one without (blackhole, unreachable, ...). */
    readonly dev?: number | undefined;
    /** RouteScope value; default for IPv4: link without `via`, universe with it. */
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
    /** Take `via` as reachable on `dev` although no route says so. */
    readonly onlink?: boolean | undefined;
    readonly mtu?: number | undefined;
    readonly metrics?: RouteMetrics | undefined;
    readonly tos?: number | undefined;
    readonly from?: Prefix | undefined;
    /** IPv6. */
    readonly expiresSeconds?: number | undefined;
    readonly preference?: number | undefined;
    readonly realms?: number | undefined;
}

/** Which of the routes to list; left out means all. */
export interface RouteFilter {
    readonly family?: Family | undefined;
    readonly table?: number | undefined;
    /** Index of the link. */
    readonly dev?: number | undefined;
    /** RouteProtocol value. */
    readonly protocol?: number | undefined;
}

export interface Neighbour {
    readonly index: number;
    readonly ip: IpAddress;
    /** Not there while it is being resolved, or after that failed. */
    readonly mac?: MacText;
    /** Bits of NeighbourState. */
    readonly state: number;
    /** Bits of NTF_*. */
    readonly flags: number;
}

export interface NeighbourOptions {
    readonly index: number;
    readonly ip: IpAddress;
    readonly mac: MacText;
    /** NeighbourState value; default permanent. */
    readonly state?: number | undefined;
    /** Bits of NeighbourFlag. */
    readonly flags?: number | undefined;
}

/** Which neighbour to delete. */
export type NeighbourKey = Pick<NeighbourOptions, "index" | "ip">;

/** What can be listened to. */
export type EventGroup = "link" | "address" | "route" | "neighbour";

export interface SubscribeOptions {
    /**
     * How much the kernel keeps for us, in its own count of about 1 KiB an event, before it drops events and says
     * "overrun". Default 8 MiB, which is some seconds of a busy machine during which nothing is read.
     */
    readonly receiveBufferBytes?: number | undefined;
}

/**
 * One change in the namespace. `overrun` says that the kernel dropped events because they were not read fast enough:
 * everything must be listed again. `error` says that an event was not understood, or that reading ended (`fatal`).
 */
export type NetlinkEvent =
    | { readonly type: "link"; readonly deleted: boolean; readonly link: Link }
    | { readonly type: "address"; readonly deleted: boolean; readonly address: Address }
    | { readonly type: "route"; readonly deleted: boolean; readonly route: Route }
    | { readonly type: "neighbour"; readonly deleted: boolean; readonly neighbour: Neighbour }
    | { readonly type: "overrun" }
    | { readonly type: "error"; readonly error: Error; readonly fatal: boolean };
