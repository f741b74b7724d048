import { Http2Error, protocolError } from "./error.ts";
import { Flag, FrameType, defaultMaxFrameSize, encodeFrame } from "./frame.ts";

const maxWindow = 0x7fff_ffff;
const defaultWindow = 65535;

/**
 * The one message of a call, sent as the flow-control windows of the peer allow (RFC 9113 section 5.2): initially, and
 * after each change of a window or setting, `takeInto` gives the frames that can be sent. Does no I/O.
 */
export class SendQueue {
    readonly #streamId: number;
    #rest: Uint8Array;
    #ended = false;
    #initialWindow = defaultWindow;
    #streamWindow = defaultWindow;
    #connectionWindow = defaultWindow;
    #maxFrameSize = defaultMaxFrameSize;

    constructor(streamId: number, body: Uint8Array) {
        this.#streamId = streamId;
        this.#rest = body;
    }

    /**
     * Appends the DATA frames that the windows allow to `frames`, none if they are exhausted; the last one ends the
     * stream, after which there are no more.
     */
    takeInto(frames: Uint8Array[]): void {
        while (!this.#ended) {
            const allowed = Math.min(this.#streamWindow, this.#connectionWindow, this.#maxFrameSize);
            const part = this.#rest.subarray(0, Math.max(allowed, 0));
            if (part.length === 0 && this.#rest.length > 0) return;
            this.#rest = this.#rest.subarray(part.length);
            this.#streamWindow -= part.length;
            this.#connectionWindow -= part.length;
            this.#ended = this.#rest.length === 0;
            frames.push(encodeFrame(FrameType.DATA, this.#ended ? Flag.END_STREAM : 0, this.#streamId, part));
        }
    }

    /**
     * Applies a WINDOW_UPDATE of the connection (stream 0) or of the stream, in octets. Throws `Http2Error`
     * PROTOCOL_ERROR for 0, FLOW_CONTROL_ERROR for a window above 2^31-1.
     */
    widen(streamId: number, increment: number): void {
        if (increment === 0) throw protocolError("WINDOW_UPDATE with an increment of 0");
        if (streamId === 0) this.#connectionWindow += increment;
        else this.#streamWindow += increment;
        if (Math.max(this.#connectionWindow, this.#streamWindow) > maxWindow) throw windowError();
    }

    /**
     * Applies SETTINGS_INITIAL_WINDOW_SIZE, in octets: adjusts the open stream by the difference, possibly below 0.
     * Throws `Http2Error` FLOW_CONTROL_ERROR for a window above 2^31-1.
     */
    setInitialWindow(size: number): void {
        if (size > maxWindow) throw windowError();
        this.#streamWindow += size - this.#initialWindow;
        this.#initialWindow = size;
        if (this.#streamWindow > maxWindow) throw windowError();
    }

    /**
     * Applies SETTINGS_MAX_FRAME_SIZE, in octets. Throws `Http2Error` PROTOCOL_ERROR for a value outside
     * 16384–16777215.
     */
    setMaxFrameSize(size: number): void {
        if (size < defaultMaxFrameSize || size > 0xff_ffff) {
            throw protocolError(`SETTINGS_MAX_FRAME_SIZE ${size} is not within 16384–16777215`);
        }
        this.#maxFrameSize = size;
    }
}

function windowError(): Http2Error {
    return new Http2Error("FLOW_CONTROL_ERROR", "remote", `a flow control window went above ${maxWindow}`);
}
