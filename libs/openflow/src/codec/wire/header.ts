import { callerError, peerError } from "../errors.ts";
import { Reader } from "./reader.ts";
import { type Writer } from "./writer.ts";

/** OpenFlow 1.5 on the wire. */
export const wireVersion = 6;
export const headerBytes = 8;
/** The length field has 16 bits. */
const maxMessageBytes = 0xffff;

/** OpenFlow 1.5 section 7.1.1: the types this codec reads or writes. */
export const MessageType = {
    HELLO: 0,
    ERROR: 1,
    ECHO_REQUEST: 2,
    ECHO_REPLY: 3,
    EXPERIMENTER: 4,
    FEATURES_REQUEST: 5,
    FEATURES_REPLY: 6,
    SET_CONFIG: 9,
    FLOW_REMOVED: 11,
    PORT_STATUS: 12,
    PACKET_OUT: 13,
    FLOW_MOD: 14,
    MULTIPART_REQUEST: 18,
    MULTIPART_REPLY: 19,
    BARRIER_REQUEST: 20,
    BARRIER_REPLY: 21,
    ROLE_REQUEST: 24,
    ROLE_REPLY: 25,
    BUNDLE_CONTROL: 33,
    BUNDLE_ADD: 34,
} as const;

export interface Header {
    readonly version: number;
    readonly type: number;
    readonly length: number;
    readonly xid: number;
}

/** Opens a message: the length is filled in by `endMessage`. Gives the offset to hand to it. */
export function beginMessage(writer: Writer, type: number, xid: number): number {
    const start = writer.length;
    writer.u8(wireVersion);
    writer.u8(type);
    writer.u16(0);
    writer.u32(xid);
    return start;
}

/** Closes the message that began at `start`; `TOO_BIG` when it passes the 16 bits of its length. */
export function endMessage(writer: Writer, start: number, what: string): void {
    const length = writer.length - start;
    if (length > maxMessageBytes) {
        throw callerError(
            "TOO_BIG",
            `${what} makes a message of ${length} bytes, at most ${maxMessageBytes} fit; split it`,
            { length },
        );
    }
    writer.patchU16(start + 2, length);
}

/** Reads the header of a complete frame and refuses another version or a length that is not the frame's. */
export function readHeader(frame: Uint8Array): { readonly header: Header; readonly body: Reader } {
    const reader = new Reader(frame, "message");
    const header = { version: reader.u8(), type: reader.u8(), length: reader.u16(), xid: reader.u32() };
    if (header.length < frame.length) {
        throw peerError("LONG", `message: its length says ${header.length}, ${frame.length} bytes came`, { ...header });
    }
    if (header.length > frame.length) {
        throw peerError("SHORT", `message: its length says ${header.length}, ${frame.length} bytes came`, {
            ...header,
        });
    }
    // A hello may be of any version: it is how versions are found out.
    if (header.version !== wireVersion && header.type !== MessageType.HELLO) {
        throw peerError("VERSION", `message of OpenFlow wire version ${header.version}, need ${wireVersion}`, {
            ...header,
        });
    }
    return { header, body: reader };
}
