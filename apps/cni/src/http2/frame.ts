import { Http2Error } from "./error.ts";

/** Frame types (RFC 9113 section 6), as in the type field of a frame. */
export const FrameType = {
    DATA: 0,
    HEADERS: 1,
    PRIORITY: 2,
    RST_STREAM: 3,
    SETTINGS: 4,
    PUSH_PROMISE: 5,
    PING: 6,
    GOAWAY: 7,
    WINDOW_UPDATE: 8,
    CONTINUATION: 9,
} as const;

/** Frame flags (RFC 9113 section 6), as bits; the meaning of a bit depends on the frame type. */
export const Flag = { ACK: 0x1, END_STREAM: 0x1, END_HEADERS: 0x4, PADDED: 0x8, PRIORITY: 0x20 } as const;

/** A frame of RFC 9113 section 4.1, without its length. */
export interface Frame {
    /** A value of FrameType, or an unknown one, which is to be ignored. */
    readonly type: number;
    /** Bits of Flag. */
    readonly flags: number;
    /** 0 is the connection itself. */
    readonly streamId: number;
    readonly payload: Uint8Array;
}

const headerLength = 9;
/**
 * Initial SETTINGS_MAX_FRAME_SIZE in octets (RFC 9113 section 6.5.2): always in force for the peer, and for this side
 * until the peer's SETTINGS.
 */
export const defaultMaxFrameSize = 16384;

/**
 * Encodes one frame (RFC 9113 section 4.1) into new memory. The payload must not exceed the peer's maximum frame size,
 * which is not checked; `streamId` 0 is the connection.
 */
export function encodeFrame(type: number, flags: number, streamId: number, payload: Uint8Array): Uint8Array {
    const frame = new Uint8Array(headerLength + payload.length);
    const view = new DataView(frame.buffer);
    view.setUint32(0, payload.length * 256 + type);
    view.setUint8(4, flags);
    view.setUint32(5, streamId);
    frame.set(payload, headerLength);
    return frame;
}

/** Joins the parts into one new array; without parts an empty one. */
export function concat(parts: readonly Uint8Array[]): Uint8Array {
    let length = 0;
    for (const part of parts) length += part.length;
    const whole = new Uint8Array(length);
    let at = 0;
    for (const part of parts) {
        whole.set(part, at);
        at += part.length;
    }
    return whole;
}

/**
 * Splits a byte stream into frames: `push` a chunk of any size, then call `next` until it returns undefined. Holds at
 * most one frame and one chunk; payloads are views of the chunk, whose memory may be reused once `next` has returned
 * undefined. A payload above 16384 octets is an error, after which the reader is of no use.
 */
export class FrameReader {
    #bytes: Uint8Array = new Uint8Array();

    /**
     * Appends received bytes, without copying them if no partial frame is left: they must not change until `next` has
     * returned undefined.
     */
    push(chunk: Uint8Array): void {
        this.#bytes = this.#bytes.length === 0 ? chunk : concat([this.#bytes, chunk]);
    }

    /**
     * The next complete frame; undefined until more bytes are pushed. Its payload is a view of them. Throws
     * `Http2Error` FRAME_SIZE_ERROR for a payload above 16384 octets.
     */
    next(): Frame | undefined {
        const bytes = this.#bytes;
        if (bytes.length >= headerLength) {
            const view = new DataView(bytes.buffer, bytes.byteOffset);
            const length = view.getUint32(0) >>> 8;
            if (length > defaultMaxFrameSize) {
                throw new Http2Error(
                    "FRAME_SIZE_ERROR",
                    "remote",
                    `a frame of ${length} bytes is above the limit of ${defaultMaxFrameSize}`,
                );
            }
            const end = headerLength + length;
            if (bytes.length >= end) {
                this.#bytes = bytes.subarray(end);
                return {
                    type: view.getUint8(3),
                    flags: view.getUint8(4),
                    streamId: view.getUint32(5) & 0x7fff_ffff,
                    payload: bytes.subarray(headerLength, end),
                };
            }
        }
        this.#bytes = bytes.slice();
        return undefined;
    }
}

/**
 * The payload of a DATA or HEADERS frame without padding and priority (RFC 9113 sections 6.1 and 6.2), as a view.
 * Throws `Http2Error` PROTOCOL_ERROR if the padding is longer than the payload.
 */
export function unpadded(frame: Frame): Uint8Array {
    let start = 0;
    let end = frame.payload.length;
    if ((frame.flags & Flag.PADDED) !== 0) {
        start = 1;
        end -= frame.payload[0] ?? 0;
    }
    if (frame.type === FrameType.HEADERS && (frame.flags & Flag.PRIORITY) !== 0) start += 5;
    if (start > end) {
        throw new Http2Error("PROTOCOL_ERROR", "remote", "the padding of a frame is longer than the frame");
    }
    return frame.payload.subarray(start, end);
}
