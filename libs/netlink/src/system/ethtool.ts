import { closeSync } from "node:fs";
import { LITTLE_ENDIAN } from "../message/bytes.ts";
import { AddressFamily } from "../message/constants.ts";
import { checkedName } from "../message/link-checks.ts";
import { checked, refused } from "./errno.ts";
import { libc, type Libc } from "./libc.ts";
import { inNetns } from "./namespace.ts";
import { SocketType } from "../socket/constants.ts";

const SIOCETHTOOL = 0x8946;

// linux/ethtool.h
const Checksum = { GET: 0x16, SET: 0x17 } as const;
const TcpSegmentation = { GET: 0x1e, SET: 0x1f } as const;
const GenericSegmentation = { GET: 0x23, SET: 0x24 } as const;
const GenericReceive = { GET: 0x2b, SET: 0x2c } as const;

/**
 * Turns transmit checksum offload of a link on or off, and with it TCP and generic segmentation offload, which need it
 * (`ethtool -K <link> tx`). With the userspace datapath of OVS, packets of a Pod would otherwise be sent without valid
 * checksums. Idempotent. `netnsPath`: default the namespace of this process. Throws `NetlinkError` `ENODEV` if there is
 * no such link, `EOPNOTSUPP` if it cannot change them, and as `inNetns`.
 */
export function setTxChecksumOffload(name: string, enabled: boolean, netnsPath?: string): void {
    withEthtool(netnsPath, (call) => {
        if (enabled) {
            for (const feature of [Checksum, TcpSegmentation, GenericSegmentation]) call(name, feature.SET, 1);
        } else {
            for (const feature of [TcpSegmentation, GenericSegmentation, Checksum]) {
                // Turning off an offload that a link never had fails with EOPNOTSUPP.
                if (call(name, feature.GET, 0) !== 0) call(name, feature.SET, 0);
            }
        }
    });
}

/**
 * Whether transmit checksum offload of a link is on; `netnsPath`: default the namespace of this process. Throws
 * `NetlinkError` `ENODEV` if there is no such link, and as `inNetns`.
 */
export function txChecksumOffload(name: string, netnsPath?: string): boolean {
    return withEthtool(netnsPath, (call) => call(name, Checksum.GET, 0)) !== 0;
}

/**
 * Whether generic receive offload of a link is on: the kernel merges received packets into larger ones. `netnsPath`:
 * default the namespace of this process. Throws `NetlinkError` `ENODEV` if there is no such link, and as `inNetns`.
 */
export function receiveMerging(name: string, netnsPath?: string): boolean {
    return withEthtool(netnsPath, (call) => call(name, GenericReceive.GET, 0)) !== 0;
}

/**
 * Turns generic receive offload of a link on or off. The userspace datapath of OVS drops frames that are larger than
 * the MTU, so packets merged before would be lost. Idempotent. `netnsPath`: default the namespace of this process.
 * Throws `NetlinkError` `ENODEV` if there is no such link, `EOPNOTSUPP` if it cannot change it, and as `inNetns`.
 */
export function setReceiveMerging(name: string, enabled: boolean, netnsPath?: string): void {
    withEthtool(netnsPath, (call) => {
        if ((call(name, GenericReceive.GET, 0) !== 0) !== enabled) call(name, GenericReceive.SET, enabled ? 1 : 0);
    });
}

/** Runs one ethtool command on a link and returns the data of its struct ethtool_value. */
type Call = (name: string, command: number, data: number) => number;

function withEthtool<T>(netnsPath: string | undefined, use: (call: Call) => T): T {
    const calls = libc();
    const work = (): T => {
        const type = SocketType.DATAGRAM | SocketType.CLOEXEC;
        const fd = checked(calls.socket(AddressFamily.INET, type, 0), "socket for ethtool", () => calls.errno());
        try {
            return use((name, command, data) => ethtool(calls, fd, { name, command, data }));
        } finally {
            closeSync(fd);
        }
    };
    return netnsPath === undefined ? work() : inNetns(netnsPath, work);
}

function ethtool(
    calls: Libc,
    fd: number,
    { name, command, data }: { readonly name: string; readonly command: number; readonly data: number },
): number {
    const value = new Uint8Array(8);
    const valueView = new DataView(value.buffer);
    valueView.setUint32(0, command, LITTLE_ENDIAN);
    valueView.setUint32(4, data, LITTLE_ENDIAN);
    const request = new Uint8Array(40); // struct ifreq: the name in 16 bytes, then a union whose pointer is set here
    request.set(new TextEncoder().encode(checkedName(name)));
    new DataView(request.buffer).setBigUint64(16, calls.addressOf(value), LITTLE_ENDIAN);
    if (calls.ioctl(fd, SIOCETHTOOL, request) < 0) {
        throw refused(`ethtool command 0x${command.toString(16)} on link ${name}`, calls.errno());
    }
    return valueView.getUint32(4, LITTLE_ENDIAN);
}
