import { callerError, peerError } from "../errors.ts";
import { Reader } from "./reader.ts";
import { type Writer } from "./writer.ts";

/** Version byte of OpenFlow 1.5 in the header. */
export const wireVersion = 6;
/** Bytes of `ofp_header`. */
export const headerBytes = 8;
/** The length field has 16 bits. */
const maxMessageBytes = 0xffff;

/** Message types that this codec reads or writes: OpenFlow 1.5 section 7.1.1. */
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
    GROUP_MOD: 15,
    MULTIPART_REQUEST: 18,
    MULTIPART_REPLY: 19,
    BARRIER_REQUEST: 20,
    BARRIER_REPLY: 21,
    ROLE_REQUEST: 24,
    ROLE_REPLY: 25,
    METER_MOD: 29,
    BUNDLE_CONTROL: 33,
    BUNDLE_ADD: 34,
} as const;

/** `ofp_header` of OpenFlow 1.5 section 7.1.1; `length` is in bytes and includes the header. */
export interface Header {
    readonly version: number;
    readonly type: number;
    readonly length: number;
    readonly xid: number;
}

/**
 * Writes the header of a message, of `MessageType` `type` and with length 0, and returns its offset for `endMessage` or
 * `endLongMessage`, which write the length.
 */
export function beginMessage(writer: Writer, type: number, xid: number): number {
    const start = writer.length;
    writer.u8(wireVersion);
    writer.u8(type);
    writer.u16(0);
    writer.u32(xid);
    return start;
}

/** Writes the length of the message that began at `start`; for messages without lists or data of the caller. */
export function endMessage(writer: Writer, start: number): void {
    writer.patchU16(start + 2, writer.length - start);
}

/**
 * As `endMessage`, for a message of any length. Throws `OpenFlowError` `TOO_BIG` above 65,535 bytes; `what` names the
 * message in the error.
 */
export function endLongMessage(writer: Writer, start: number, what: string): void {
    const length = writer.length - start;
    if (length > maxMessageBytes) {
        throw callerError(
            "TOO_BIG",
            `${what} makes a message of ${length} bytes, at most ${maxMessageBytes} fit; split it`,
            { length },
        );
    }
    endMessage(writer, start);
}

/**
 * Reads the header of a complete frame; `body` reads the bytes after it. Throws `OpenFlowError`: `VERSION` for another
 * version than 1.5 (except of a hello), `SHORT` or `LONG` when the length differs from the frame's.
 */
export function readHeader(frame: Uint8Array): { readonly header: Header; readonly body: Reader } {
    const reader = new Reader(frame, "message");
    const header = { version: reader.u8(), type: reader.u8(), length: reader.u16(), xid: reader.u32() };
    if (header.length < frame.length) {
        throw peerError("LONG", `message: its length is ${header.length}, ${frame.length} bytes were received`, {
            ...header,
        });
    }
    if (header.length > frame.length) {
        throw peerError("SHORT", `message: its length is ${header.length}, ${frame.length} bytes were received`, {
            ...header,
        });
    }
    // A hello may have any version: it negotiates the version.
    if (header.version !== wireVersion && header.type !== MessageType.HELLO) {
        throw peerError("VERSION", `message of OpenFlow wire version ${header.version}, need ${wireVersion}`, {
            ...header,
        });
    }
    return { header, body: reader };
}
