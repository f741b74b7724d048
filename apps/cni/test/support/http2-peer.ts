import { Http2Error } from "../../src/http2/error.ts";
import { encodeFrame, Flag, FrameReader, FrameType, type Frame } from "../../src/http2/frame.ts";
import { HeaderWriter } from "../../src/http2/header-writer.ts";
import { prefixed } from "../../src/http2/message-body.ts";
import { UnaryCall } from "../../src/http2/unary-call.ts";

export const none = new Uint8Array();
export const settings = encodeFrame(FrameType.SETTINGS, 0, 0, none);

export function headers(fields: Readonly<Record<string, string>>, flags: number = Flag.END_HEADERS): Uint8Array {
    return encodeFrame(FrameType.HEADERS, flags, 1, block(fields));
}

export function block(fields: Readonly<Record<string, string>>): Uint8Array {
    const writer = new HeaderWriter();
    for (const [name, value] of Object.entries(fields)) writer.literal(name, value);
    return writer.finish();
}

/** The headers of an answer that a message follows. */
export const ok = headers({ ":status": "200", "content-type": "application/grpc" });
export const trailers = (fields: Readonly<Record<string, string>>): Uint8Array =>
    headers(fields, Flag.END_HEADERS | Flag.END_STREAM);
export const data = (payload: Uint8Array, flags = 0): Uint8Array => encodeFrame(FrameType.DATA, flags, 1, payload);
export const message = Uint8Array.of(1, 2, 3);
/** A whole answer: settings, headers, the message, trailers. */
export const answer = [settings, ok, data(prefixed(message)), trailers({ "grpc-status": "0" })];

/** A call of a message of `size` bytes whose first bytes are sent. */
export const started = (size = 3, maxAnswerBytes = 1000): UnaryCall => {
    const call = new UnaryCall({ path: "/a/b", message: new Uint8Array(size), maxAnswerBytes });
    call.start();
    return call;
};

/** How a call reacts to these bytes: its outcome, its rejection, or that it waits. */
export function verdict(parts: readonly Uint8Array[], call: UnaryCall = started()): unknown {
    try {
        for (const part of parts) call.receive(part);
    } catch (error) {
        if (error instanceof Http2Error && error.fault === "remote") return `${error.code} ${error.message}`;
        throw error;
    }
    return call.outcome ?? "waits";
}

export function frames(bytes: Uint8Array): Frame[] {
    const reader = new FrameReader();
    reader.push(bytes);
    const all: Frame[] = [];
    for (let frame = reader.next(); frame !== undefined; frame = reader.next()) all.push(frame);
    return all;
}

export const dataBytes = (bytes: Uint8Array): number =>
    frames(bytes)
        .filter((frame) => frame.type === FrameType.DATA)
        .reduce((sum, frame) => sum + frame.payload.length, 0);
export const windowUpdate = (streamId: number, increment: number): Uint8Array => {
    const payload = new Uint8Array(4);
    new DataView(payload.buffer).setUint32(0, increment);
    return encodeFrame(FrameType.WINDOW_UPDATE, 0, streamId, payload);
};
export const setting = (id: number, value: number): Uint8Array => {
    const payload = new Uint8Array(6);
    new DataView(payload.buffer).setUint16(0, id);
    new DataView(payload.buffer).setUint32(2, value);
    return encodeFrame(FrameType.SETTINGS, 0, 0, payload);
};
