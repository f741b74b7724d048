import { type IpAddress } from "@antrea/ip";

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
