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
