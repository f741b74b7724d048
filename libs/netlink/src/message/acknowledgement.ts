import { Attributes } from "./attributes.ts";
import { AckAttribute, MessageFlag, MessageType } from "./constants.ts";
import { HEADER_BYTES, type Frame } from "./frame.ts";
import { Reader } from "./reader.ts";

/** The kernel's answer to one request, or the end of a dump. */
export interface Acknowledgement {
    /** 0 is success, else a positive errno. */
    readonly errno: number;
    /** The kernel's error text, if any (NLMSGERR_ATTR_MSG). */
    readonly text?: string;
    /** Number of a required attribute that was not sent (NLMSGERR_ATTR_MISS_TYPE). */
    readonly missingAttribute?: number;
}

/**
 * Reads NLMSG_ERROR: struct nlmsgerr, then with NLM_F_ACK_TLVS attributes after the part of the request that it
 * repeats. Throws `NetlinkError` `SHORT_MESSAGE`, `BAD_MESSAGE`.
 */
export function decodeAcknowledgement(frame: Frame): Acknowledgement {
    const reader = new Reader(frame.payload, "acknowledgement");
    const errno = -reader.i32();
    const requestLength = reader.u32();
    reader.skip(HEADER_BYTES - 4);
    if ((frame.flags & MessageFlag.CAPPED) === 0) {
        const repeated = Math.max(0, requestLength - HEADER_BYTES);
        reader.skip(repeated);
        reader.skipPadding(repeated);
    }
    return withReasons(errno, frame.flags, reader);
}

/**
 * Reads NLMSG_DONE: the result of the dump. A message without it, as of older kernels, is a success. Throws
 * `NetlinkError` `SHORT_MESSAGE`, `BAD_MESSAGE`.
 */
export function decodeDone(frame: Frame): Acknowledgement {
    if (frame.payload.length === 0) return { errno: 0 };
    const reader = new Reader(frame.payload, "end of a dump");
    return withReasons(Math.max(0, -reader.i32()), frame.flags, reader);
}

function withReasons(errno: number, flags: number, reader: Reader): Acknowledgement {
    // `-0` would not compare as 0 in tests and logs.
    const number = errno === 0 ? 0 : errno;
    if ((flags & MessageFlag.ACK_TLVS) === 0) return { errno: number };
    const attributes = new Attributes(reader.rest(), "acknowledgement");
    const text = attributes.text(AckAttribute.TEXT);
    const missingAttribute = attributes.u32(AckAttribute.MISSING_TYPE);
    return {
        errno: number,
        ...(text !== undefined && { text }),
        ...(missingAttribute !== undefined && { missingAttribute }),
    };
}

/** The result in the frame that ends a dump; undefined for other frames. */
export function endOfDump(frame: Frame): Acknowledgement | undefined {
    if (frame.type === MessageType.DONE) return decodeDone(frame);
    return frame.type === MessageType.ERROR ? decodeAcknowledgement(frame) : undefined;
}
