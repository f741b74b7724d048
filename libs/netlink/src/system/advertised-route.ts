import { closeSync } from "node:fs";
import { ipToBytes, type IpAddress } from "@antrea/ip";
import { badArgument } from "../errors.ts";
import { checkUint, LITTLE_ENDIAN } from "../message/bytes.ts";
import { AddressFamily } from "../message/constants.ts";
import { linkIndex } from "../message/link-checks.ts";
import { SocketType } from "../socket/constants.ts";
import { checked } from "./errno.ts";
import { libc } from "./libc.ts";
import { inNetns } from "./namespace.ts";

const SIOCADDRT = 0x890b;
const TICKS_A_SECOND = 100n;

/** RTF_* of linux/ipv6_route.h, as the kernel sets them on an advertised default route. */
const Flag = { UP: 0x1, GATEWAY: 0x2, DEFAULT: 0x1_0000, ADDRCONF: 0x4_0000, EXPIRES: 0x40_0000 } as const;
const PREFERENCE_SHIFT = 27;

/**
 * An IPv6 default route of a router advertisement (RFC 4861), on the link `index`; `expiresSeconds` are whole seconds
 * from now, `metric` has 32 bits.
 */
export interface AdvertisedRoute {
    readonly index: number;
    /** The router's link-local address. */
    readonly via: IpAddress;
    readonly metric: number;
    readonly expiresSeconds: number;
    /** Router preference, as in `Route`: 1 high, 3 low. Default 0, medium. */
    readonly preference?: number | undefined;
}

/**
 * Adds an IPv6 default route that the kernel treats as learned from a router advertisement: the router's next
 * advertisement prolongs, replaces (with another metric) or removes it. The kernel does not treat a route added by
 * netlink so, and ignores the rest of an advertisement whose route it cannot add. Listed with the protocol "boot".
 * `netnsPath`: default the namespace of this process. Throws `NetlinkError` `EEXIST` if there is one with this gateway
 * and metric, `BAD_ARGUMENT` for an IPv4 gateway or a number that does not fit, and as `inNetns`.
 */
export function addAdvertisedRoute(route: AdvertisedRoute, netnsPath?: string): void {
    const { index, via, metric, expiresSeconds, preference = 0 } = route;
    if (via.family !== 6) throw badArgument("gateway of an advertised route", via.family, "an IPv6 address expected");
    const request = new Uint8Array(80); // struct in6_rtmsg: destination and source stay ::/0
    const view = new DataView(request.buffer);
    request.set(ipToBytes(via), 32);
    view.setUint32(56, checkUint(metric, 32, "metric of an advertised route"), LITTLE_ENDIAN);
    const seconds = checkUint(expiresSeconds, 32, "expiresSeconds of an advertised route");
    view.setBigUint64(64, BigInt(seconds) * TICKS_A_SECOND, LITTLE_ENDIAN);
    const flags = Flag.UP | Flag.GATEWAY | Flag.DEFAULT | Flag.ADDRCONF | Flag.EXPIRES;
    const level = checkUint(preference, 2, "preference of an advertised route");
    view.setUint32(72, (flags | (level << PREFERENCE_SHIFT)) >>> 0, LITTLE_ENDIAN);
    view.setInt32(76, linkIndex(index), LITTLE_ENDIAN);
    const work = (): void => {
        const calls = libc();
        const type = SocketType.DATAGRAM | SocketType.CLOEXEC;
        const fd = checked(calls.socket(AddressFamily.INET6, type, 0), "socket for a route", calls.errno);
        try {
            checked(calls.ioctl(fd, SIOCADDRT, request), `add advertised default route on link ${index}`, calls.errno);
        } finally {
            closeSync(fd);
        }
    };
    if (netnsPath === undefined) work();
    else inNetns(netnsPath, work);
}
