import { closeSync } from "node:fs";
import { badArgument } from "../errors.ts";
import { LITTLE_ENDIAN } from "../message/bytes.ts";
import { AddressFamily } from "../message/constants.ts";
import { checkedName } from "../message/link-checks.ts";
import { SocketType } from "../socket/constants.ts";
import { checked } from "../system/errno.ts";
import { libc, type Libc } from "../system/libc.ts";
import { inNetns } from "../system/namespace.ts";

const SIOCGIFINDEX = 0x8933;
const MIN_FRAME_BYTES = 14;
const MAX_FRAME_BYTES = 65_535;

/**
 * Sends Ethernet frames of 14 to 65535 bytes unchanged out of the link `name` of the namespace at `netnsPath`, or of
 * this process if undefined (packet(7)). Throws `NetlinkError` `BAD_ARGUMENT` for a frame of another length before it
 * sends any; `ENODEV` if there is no such link, `ENETDOWN` if it is down, or as `inNetns`. Needs CAP_NET_RAW.
 */
export function sendFrames(netnsPath: string | undefined, name: string, frames: readonly Uint8Array[]): void {
    const wrong = frames.find(({ length }) => length < MIN_FRAME_BYTES || length > MAX_FRAME_BYTES);
    if (wrong !== undefined) {
        throw badArgument("length of a frame", wrong.length, `${MIN_FRAME_BYTES} to ${MAX_FRAME_BYTES} bytes allowed`);
    }
    const calls = libc();
    // Protocol 0: nothing is received.
    const type = SocketType.RAW | SocketType.CLOEXEC | SocketType.NONBLOCK;
    const create = (): number =>
        checked(calls.socket(AddressFamily.PACKET, type, 0), "open a packet socket", calls.errno);
    const fd = netnsPath === undefined ? create() : inNetns(netnsPath, create);
    try {
        bindTo(calls, fd, name);
        for (const frame of frames) {
            checked(calls.send(fd, frame, frame.length, 0), `send a frame out of link ${name}`, calls.errno);
        }
    } finally {
        closeSync(fd);
    }
}

function bindTo(calls: Libc, fd: number, name: string): void {
    const request = new Uint8Array(40); // struct ifreq: the name in 16 bytes, then its index
    request.set(new TextEncoder().encode(checkedName(name)));
    checked(calls.ioctl(fd, SIOCGIFINDEX, request), `find link ${name}`, calls.errno);
    const index = new DataView(request.buffer).getInt32(16, LITTLE_ENDIAN);
    const address = new Uint8Array(20); // struct sockaddr_ll
    const view = new DataView(address.buffer);
    view.setUint16(0, AddressFamily.PACKET, LITTLE_ENDIAN);
    view.setInt32(4, index, LITTLE_ENDIAN);
    checked(calls.bind(fd, address, address.length), `bind a packet socket to link ${name}`, calls.errno);
}
