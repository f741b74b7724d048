/** SOCK_* types, with the flags that may be combined with them (socket(2)). */
export const SocketType = { DATAGRAM: 2, RAW: 3, NONBLOCK: 0o4000, CLOEXEC: 0o2000000 } as const;

/** Levels and options of setsockopt(2); those of netlink are in netlink(7). */
export const SocketOption = {
    SOL_SOCKET: 1,
    SO_RCVBUF: 8,
    SO_RCVBUFFORCE: 33,
    SOL_NETLINK: 270,
    NETLINK_ADD_MEMBERSHIP: 1,
    NETLINK_CAP_ACK: 10,
    NETLINK_EXT_ACK: 11,
    NETLINK_GET_STRICT_CHK: 12,
} as const;

/** Flags of recv(2) (MSG_*). */
export const ReceiveFlag = { DONTWAIT: 0x40, TRUNC: 0x20 } as const;
