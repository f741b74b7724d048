/** Bits of the state of a neighbour (NUD_*, rtnetlink(7), linux/neighbour.h). */
export const NeighbourState = {
    INCOMPLETE: 0x01,
    REACHABLE: 0x02,
    STALE: 0x04,
    DELAY: 0x08,
    PROBE: 0x10,
    FAILED: 0x20,
    NOARP: 0x40,
    PERMANENT: 0x80,
} as const;

/** nlmsg_type of the control messages (netlink(7)) and of rtnetlink (rtnetlink(7), linux/rtnetlink.h). */
export const MessageType = {
    NOOP: 1,
    ERROR: 2,
    DONE: 3,
    OVERRUN: 4,
    NEWLINK: 16,
    DELLINK: 17,
    GETLINK: 18,
    SETLINK: 19,
    NEWADDR: 20,
    DELADDR: 21,
    GETADDR: 22,
    NEWROUTE: 24,
    DELROUTE: 25,
    GETROUTE: 26,
    NEWNEIGH: 28,
    DELNEIGH: 29,
    GETNEIGH: 30,
    NEWRULE: 32,
    DELRULE: 33,
    GETRULE: 34,
    NEWNSID: 88,
    GETNSID: 90,
    NEWLINKPROP: 108,
    DELLINKPROP: 109,
} as const;

/**
 * nlmsg_flags (netlink(7), linux/netlink.h). A bit depends on the message: REPLACE, EXCL, CREATE and APPEND belong to
 * requests that add an object, DUMP to those that list objects, CAPPED and ACK_TLVS to acknowledgements.
 */
export const MessageFlag = {
    REQUEST: 0x01,
    MULTI: 0x02,
    ACK: 0x04,
    DUMP_INTR: 0x10,
    CAPPED: 0x100,
    ACK_TLVS: 0x200,
    DUMP: 0x300,
    REPLACE: 0x100,
    EXCL: 0x200,
    CREATE: 0x400,
    APPEND: 0x800,
} as const;

/** Address families (AF_*, socket(2)) of sockets and of rtnetlink messages. */
export const AddressFamily = { UNSPEC: 0, INET: 2, NETLINK: 16, PACKET: 17, INET6: 10 } as const;

/** Flags of a link: netdevice(7), IFF_*. */
export const LinkFlag = { UP: 0x1, LOOPBACK: 0x8, RUNNING: 0x40, PROMISCUOUS: 0x100 } as const;

/**
 * NLA_F_NESTED (linux/netlink.h), a bit of the attribute's number: the kernel requires it for attributes with
 * attributes in newer message types, such as IFLA_PROP_LIST.
 */
export const NESTED = 0x8000;

/** Attributes of a link (IFLA_*, rtnetlink(7), linux/if_link.h). */
export const LinkAttribute = {
    ADDRESS: 1,
    IFNAME: 3,
    MTU: 4,
    LINK: 5,
    MASTER: 10,
    LINKINFO: 18,
    IFALIAS: 20,
    GROUP: 27,
    NET_NS_FD: 28,
    EXT_MASK: 29,
    NUM_TX_QUEUES: 31,
    NUM_RX_QUEUES: 32,
    LINK_NETNSID: 37,
    PROP_LIST: 52,
    ALT_IFNAME: 53,
    PARENT_DEV_NAME: 56,
} as const;

/**
 * Attributes within IFLA_LINKINFO (IFLA_INFO_*, linux/if_link.h), and VETH_INFO_PEER (linux/veth.h) within the data of
 * a veth.
 */
export const LinkInfoAttribute = { KIND: 1, DATA: 2, VETH_PEER: 1 } as const;

/**
 * Bit of IFLA_EXT_MASK (RTEXT_FILTER_SKIP_STATS, linux/rtnetlink.h): omits the IPv6 counters, which cost the kernel
 * more than the rest of a link; newer kernels also omit those of VFs and of the link itself.
 */
export const SKIP_STATS = 8;

/** Attributes of an address (IFA_*, rtnetlink(7), linux/if_addr.h). */
export const AddressAttribute = {
    ADDRESS: 1,
    LOCAL: 2,
    LABEL: 3,
    BROADCAST: 4,
    CACHEINFO: 6,
    FLAGS: 8,
    RT_PRIORITY: 9,
    PROTO: 11,
} as const;

/**
 * Bits of the flags of an address (IFA_F_*, rtnetlink(7), linux/if_addr.h). Of IPv6, SECONDARY marks a temporary
 * address.
 */
export const AddressFlag = {
    SECONDARY: 0x01,
    NODAD: 0x02,
    OPTIMISTIC: 0x04,
    DADFAILED: 0x08,
    HOMEADDRESS: 0x10,
    TENTATIVE: 0x40,
    PERMANENT: 0x80,
    MANAGETEMPADDR: 0x100,
    NOPREFIXROUTE: 0x200,
    MCAUTOJOIN: 0x400,
} as const;

/** Attributes of a routing rule (FRA_*, linux/fib_rules.h). */
export const RuleAttribute = { PRIORITY: 6, MARK: 10, TABLE: 15, MASK: 16, PROTOCOL: 21 } as const;

/** FR_ACT_TO_TBL (linux/fib_rules.h): the action of a rule that names a routing table. */
export const TO_TABLE = 1;

/**
 * Bits of the flags of a neighbour (NTF_*, rtnetlink(7), linux/neighbour.h). USE makes the kernel resolve it as if a
 * packet was sent to it.
 */
export const NeighbourFlag = { USE: 0x01, PROXY: 0x08, EXT_LEARNED: 0x10, ROUTER: 0x80 } as const;

/** Attributes of a neighbour (NDA_*, rtnetlink(7), linux/neighbour.h). */
export const NeighbourAttribute = { DST: 1, LLADDR: 2, IFINDEX: 8 } as const;

/** Attributes of the id of a network namespace (NETNSA_*, linux/net_namespace.h). */
export const NetnsAttribute = { NSID: 1, FD: 3 } as const;

/** Attributes of an extended acknowledgement (linux/netlink.h): NLMSGERR_ATTR_MSG, _OFFS and _MISS_TYPE. */
export const AckAttribute = { TEXT: 1, OFFSET: 2, MISSING_TYPE: 5 } as const;

/** Numbers of the multicast groups (RTNLGRP_*, linux/rtnetlink.h), for NETLINK_ADD_MEMBERSHIP. */
export const Group = {
    LINK: 1,
    NEIGHBOUR: 3,
    IPV4_ADDRESS: 5,
    IPV4_ROUTE: 7,
    IPV6_ADDRESS: 9,
    IPV6_ROUTE: 11,
} as const;
