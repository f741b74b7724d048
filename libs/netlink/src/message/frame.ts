import { NetlinkError } from "../errors.ts";
import { align, LITTLE_ENDIAN } from "./bytes.ts";
import { Reader } from "./reader.ts";

/** sizeof(struct nlmsghdr) in bytes. */
export const HEADER_BYTES = 16;

/**
 * One message of a datagram (struct nlmsghdr, netlink(7)): `type` is a `MessageType`, `flags` has `MessageFlag` bits,
 * `sequence` has 32 bits, `payload` follows the header, without the padding after it.
 */
export interface Frame {
    readonly type: number;
    readonly flags: number;
    readonly sequence: number;
    readonly payload: Uint8Array;
}

/** The bytes of a datagram with these messages, each padded to 4 bytes; the sender's port (nlmsg_pid) is 0. */
export function encodeFrames(frames: readonly Frame[]): Uint8Array {
    const bytes = new Uint8Array(frames.reduce((sum, frame) => sum + align(HEADER_BYTES + frame.payload.length), 0));
    const view = new DataView(bytes.buffer);
    let offset = 0;
    for (const { type, flags, sequence, payload } of frames) {
        const length = HEADER_BYTES + payload.length;
        view.setUint32(offset, length, LITTLE_ENDIAN);
        view.setUint16(offset + 4, type, LITTLE_ENDIAN);
        view.setUint16(offset + 6, flags, LITTLE_ENDIAN);
        view.setUint32(offset + 8, sequence, LITTLE_ENDIAN);
        bytes.set(payload, offset + HEADER_BYTES);
        offset += align(length);
    }
    return bytes;
}

/**
 * The messages of a received datagram; payloads are views of it. Throws `NetlinkError` `SHORT_MESSAGE` or
 * `BAD_MESSAGE`.
 */
export function decodeFrames(datagram: Uint8Array): readonly Frame[] {
    const reader = new Reader(datagram, "datagram");
    const frames: Frame[] = [];
    while (reader.remaining > 0) {
        const length = reader.u32();
        const type = reader.u16();
        const flags = reader.u16();
        const sequence = reader.u32();
        reader.skip(4); // nlmsg_pid: only the kernel can write to a socket that is connected to it
        if (length < HEADER_BYTES) {
            throw new NetlinkError(
                "BAD_MESSAGE",
                "remote",
                `netlink datagram: message type ${type} has length ${length}, less than its own header of ${HEADER_BYTES}`,
            );
        }
        frames.push({ type, flags, sequence, payload: reader.bytes(length - HEADER_BYTES) });
        reader.skipPadding(length);
    }
    return frames;
}
