import { Http2Error, protocolError } from "./error.ts";
import { concat, encodeFrame, Flag, FrameReader, FrameType, unpadded, type Frame } from "./frame.ts";
import { decodeGrpcMessage, GrpcStatus, statusOfHttp, statusOfReset } from "./grpc-status.ts";
import { HeaderWriter } from "./header-writer.ts";
import { HpackDecoder } from "./hpack.ts";
import { MessageBody, prefixed, type BodyFault } from "./message-body.ts";
import { SendQueue } from "./send-queue.ts";
import { type Header } from "./static-table.ts";

/** The request of a UnaryCall, and the limit of its answer. */
export interface UnaryCallOptions {
    /** "/package.Service/Method". */
    readonly path: string;
    /** The encoded request message, without the length prefix of gRPC. */
    readonly message: Uint8Array;
    /** Limit of the answer's message in bytes. Default 16 MiB. */
    readonly maxAnswerBytes?: number;
}

/**
 * The outcome of a call: the answer's message, without its length prefix, or a gRPC status other than OK with its text
 * (`grpc-message`, or why there is no answer).
 */
export type CallOutcome =
    | { readonly kind: "message"; readonly message: Uint8Array }
    | { readonly kind: "status"; readonly status: number; readonly text: string };

const streamId = 1;
const preface = new TextEncoder().encode("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const defaultMaxAnswerBytes = 16 * 1024 * 1024;
const maxHeaderBlock = 65536;
/**
 * Receive window of the stream and of the connection in bytes; a WINDOW_UPDATE is sent after half of it is consumed.
 */
const receiveWindow = 65535;

/**
 * One unary gRPC call on a new HTTP/2 connection, client side, without I/O. Implements the part of RFC 9113 that one
 * call needs: one stream, no server push, no priorities. Write the result of `start`; pass received bytes to
 * `receive` and write its result, until `outcome` is set; call `closed` when the peer closes. If the peer violates
 * the protocol, `receive` throws `Http2Error` and the call is over.
 */
export class UnaryCall {
    readonly #path: string;
    readonly #frames = new FrameReader();
    readonly #hpack = new HpackDecoder();
    readonly #send: SendQueue;
    readonly #body: MessageBody;
    #outcome: CallOutcome | undefined;
    #settingsSeen = false;
    #headersSeen = false;
    #consumed = 0;
    /** A header block that awaits CONTINUATION frames. */
    #block: { readonly parts: Uint8Array[]; readonly endStream: boolean; size: number } | undefined;

    constructor(options: UnaryCallOptions) {
        this.#path = options.path;
        this.#send = new SendQueue(streamId, prefixed(options.message));
        this.#body = new MessageBody(options.maxAnswerBytes ?? defaultMaxAnswerBytes);
    }

    /** Undefined until the call has ended; it never changes then. */
    get outcome(): CallOutcome | undefined {
        return this.#outcome;
    }

    /** True once the peer's SETTINGS were received. */
    get established(): boolean {
        return this.#settingsSeen;
    }

    /**
     * Connection preface, SETTINGS, headers, and as much of the message as the initial windows allow, to be written
     * first; called once.
     */
    start(): Uint8Array {
        // SETTINGS_ENABLE_PUSH = 0.
        const settings = Uint8Array.of(0, 2, 0, 0, 0, 0);
        const parts = [
            preface,
            encodeFrame(FrameType.SETTINGS, 0, 0, settings),
            encodeFrame(FrameType.HEADERS, Flag.END_HEADERS, streamId, requestHeaders(this.#path)),
        ];
        this.#send.takeInto(parts);
        return concat(parts);
    }

    /**
     * Processes received bytes; returns the bytes to write in response, possibly none. The memory of `chunk` may be
     * reused. No effect once there is an outcome. Throws `Http2Error`.
     */
    receive(chunk: Uint8Array): Uint8Array {
        const replies: Uint8Array[] = [];
        this.#frames.push(chunk);
        while (this.#outcome === undefined) {
            const frame = this.#frames.next();
            if (frame === undefined) break;
            this.#take(frame, replies);
        }
        return concat(replies);
    }

    /** The peer closed the connection. No effect once there is an outcome. */
    closed(): void {
        this.#end(GrpcStatus.UNAVAILABLE, "the connection was closed before the answer came");
    }

    #take(frame: Frame, replies: Uint8Array[]): void {
        if (!this.#settingsSeen && frame.type !== FrameType.SETTINGS) {
            throw protocolError(`the first frame has type ${frame.type}, not SETTINGS: no HTTP/2 server?`);
        }
        if (this.#block !== undefined && frame.type !== FrameType.CONTINUATION) {
            throw protocolError(`a frame of type ${frame.type} inside a header block`);
        }
        switch (frame.type) {
            case FrameType.SETTINGS:
                this.#settings(frame, replies);
                return;
            case FrameType.HEADERS:
                this.#onStream(frame);
                this.#block = { parts: [], endStream: (frame.flags & Flag.END_STREAM) !== 0, size: 0 };
                this.#blockPart(unpadded(frame), frame.flags);
                return;
            case FrameType.CONTINUATION:
                this.#onStream(frame);
                this.#blockPart(frame.payload, frame.flags);
                return;
            case FrameType.DATA:
                this.#data(frame, replies);
                return;
            case FrameType.RST_STREAM:
                this.#onStream(frame);
                this.#reset(uint32(frame, 4, 0));
                return;
            case FrameType.PING:
                onConnection(frame);
                sized(frame, 8);
                if ((frame.flags & Flag.ACK) === 0)
                    replies.push(encodeFrame(FrameType.PING, Flag.ACK, 0, frame.payload));
                return;
            case FrameType.GOAWAY:
                this.#goAway(frame);
                return;
            case FrameType.WINDOW_UPDATE:
                if (frame.streamId !== 0) this.#onStream(frame);
                this.#send.widen(frame.streamId, uint32(frame, 4, 0) & 0x7fff_ffff);
                this.#send.takeInto(replies);
                return;
            case FrameType.PUSH_PROMISE:
                throw protocolError("PUSH_PROMISE, although push is disabled");
            default:
            // PRIORITY and unknown frame types are ignored (RFC 9113 section 5.5).
        }
    }

    #settings(frame: Frame, replies: Uint8Array[]): void {
        onConnection(frame);
        const acknowledged = (frame.flags & Flag.ACK) !== 0;
        if (acknowledged ? frame.payload.length > 0 : frame.payload.length % 6 !== 0) {
            throw frameSizeError(frame);
        }
        if (acknowledged) {
            if (!this.#settingsSeen) throw protocolError("SETTINGS are acknowledged before the peer sent its own");
            return;
        }
        this.#settingsSeen = true;
        for (let at = 0; at < frame.payload.length; at += 6) {
            const id = uint32(frame, undefined, at) >>> 16;
            const value = uint32(frame, undefined, at + 2);
            if (id === 4) this.#send.setInitialWindow(value);
            else if (id === 5) this.#send.setMaxFrameSize(value);
        }
        replies.push(encodeFrame(FrameType.SETTINGS, Flag.ACK, 0, new Uint8Array()));
        this.#send.takeInto(replies);
    }

    #blockPart(part: Uint8Array, flags: number): void {
        const block = this.#block;
        if (block === undefined) throw protocolError("CONTINUATION without a header block");
        block.parts.push(part.slice());
        // A fixed size per frame also limits a flood of empty ones.
        block.size += part.length + 16;
        if (block.size > maxHeaderBlock) {
            throw new Http2Error("TOO_LARGE", "remote", `a header block is larger than ${maxHeaderBlock} bytes`);
        }
        if ((flags & Flag.END_HEADERS) === 0) return;
        this.#block = undefined;
        this.#headers(this.#hpack.decode(concat(block.parts)), block.endStream);
    }

    #headers(headers: readonly Header[], endStream: boolean): void {
        const get = (name: string): string | undefined => headers.find((header) => header[0] === name)?.[1];
        if (this.#headersSeen) {
            if (!endStream) throw protocolError("trailers that do not end the stream");
            this.#finish(get("grpc-status"), get("grpc-message"));
            return;
        }
        const http = Number(get(":status"));
        if (!(http >= 100 && http <= 599)) throw protocolError("an answer without :status");
        if (http < 200) {
            if (endStream) throw protocolError("an interim answer that ends the stream");
            return;
        }
        this.#headersSeen = true;
        if (endStream && get("grpc-status") !== undefined) {
            this.#finish(get("grpc-status"), get("grpc-message"));
        } else if (http !== 200) {
            this.#end(statusOfHttp(http), `the server answered with HTTP status ${http}`);
        } else if (!(get("content-type") ?? "").startsWith("application/grpc")) {
            this.#end(GrpcStatus.UNKNOWN, "the server's answer is not of content-type application/grpc");
        } else if (endStream) {
            this.#finish(undefined, undefined);
        }
    }

    #data(frame: Frame, replies: Uint8Array[]): void {
        this.#onStream(frame);
        if (!this.#headersSeen) throw protocolError("DATA before HEADERS");
        // Padding counts in flow control (RFC 9113 section 6.1).
        this.#consumed += frame.payload.length;
        const fault = this.#body.add(unpadded(frame));
        if (fault !== undefined) {
            this.#bodyFault(fault);
        } else if ((frame.flags & Flag.END_STREAM) !== 0) {
            this.#finish(undefined, undefined);
        } else if (this.#consumed > receiveWindow / 2) {
            const increment = new Uint8Array(4);
            new DataView(increment.buffer).setUint32(0, this.#consumed);
            replies.push(encodeFrame(FrameType.WINDOW_UPDATE, 0, 0, increment));
            replies.push(encodeFrame(FrameType.WINDOW_UPDATE, 0, streamId, increment));
            this.#consumed = 0;
        }
    }

    #finish(status: string | undefined, text: string | undefined): void {
        if (status === undefined || !/^[0-9]{1,9}$/.test(status)) {
            this.#end(GrpcStatus.UNKNOWN, "the server ended the call without a valid grpc-status");
            return;
        }
        if (Number(status) !== GrpcStatus.OK) {
            this.#end(Number(status), decodeGrpcMessage(text ?? ""));
            return;
        }
        const message = this.#body.finish();
        if (typeof message === "string") this.#bodyFault(message);
        else this.#outcome ??= { kind: "message", message };
    }

    #bodyFault(fault: BodyFault): void {
        const status = fault === "too large" ? GrpcStatus.RESOURCE_EXHAUSTED : GrpcStatus.INTERNAL;
        this.#end(status, `the answer must be one uncompressed message, it is: ${fault}`);
    }

    #reset(errorCode: number): void {
        this.#end(statusOfReset(errorCode), `the server reset the call with HTTP/2 error code ${errorCode}`);
    }

    #goAway(frame: Frame): void {
        onConnection(frame);
        if (frame.payload.length < 8) throw frameSizeError(frame);
        // After GOAWAY the server still answers the streams up to the one it names.
        if ((uint32(frame, undefined, 0) & 0x7fff_ffff) >= streamId) return;
        const errorCode = uint32(frame, undefined, 4);
        this.#end(GrpcStatus.UNAVAILABLE, `the server is going away (HTTP/2 error code ${errorCode})`);
    }

    #end(status: number, text: string): void {
        this.#outcome ??= { kind: "status", status, text };
    }

    #onStream(frame: Frame): void {
        if (frame.streamId !== streamId) {
            throw protocolError(`a frame of type ${frame.type} on stream ${frame.streamId}, which was never opened`);
        }
    }
}

/** Literals without indexing (RFC 7541 section 6.2.2), with names from the static table where possible. */
function requestHeaders(path: string): Uint8Array {
    const headers = new HeaderWriter();
    headers.indexed(3); // :method POST
    headers.indexed(6); // :scheme http
    headers.literal(4, path); // :path
    headers.literal(1, "localhost"); // :authority
    headers.literal("te", "trailers");
    headers.literal(31, "application/grpc"); // content-type
    headers.literal(58, "antrea-cni"); // user-agent
    return headers.finish();
}

function onConnection(frame: Frame): void {
    if (frame.streamId !== 0) throw protocolError(`a frame of type ${frame.type} on stream ${frame.streamId}, not 0`);
}

function sized(frame: Frame, length: number): void {
    if (frame.payload.length !== length) throw frameSizeError(frame);
}

/** Reads a number from the payload; `length`, if given, is the required payload length. */
function uint32(frame: Frame, length: number | undefined, at: number): number {
    if (length !== undefined) sized(frame, length);
    return new DataView(frame.payload.buffer, frame.payload.byteOffset, frame.payload.length).getUint32(at);
}

function frameSizeError(frame: Frame): Http2Error {
    return new Http2Error(
        "FRAME_SIZE_ERROR",
        "remote",
        `a frame of type ${frame.type} with a payload of ${frame.payload.length} bytes`,
    );
}
