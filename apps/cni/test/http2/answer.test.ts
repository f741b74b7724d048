import { describe, expect, it } from "@jest/globals";
import { concat, encodeFrame, Flag, FrameType } from "../../src/http2/frame.ts";
import { prefixed } from "../../src/http2/message-body.ts";
import { hex } from "../support/hex.ts";
import {
    answer,
    block,
    data,
    headers,
    message,
    none,
    ok,
    settings,
    started,
    trailers,
    verdict,
    windowUpdate,
} from "../support/http2-peer.ts";

const statusOf = (fields: Readonly<Record<string, string>>): unknown => verdict([settings, ok, trailers(fields)]);
const unknown = (text: string): unknown => ({ kind: "status", status: 2, text });
const noStatus = unknown("the server ended the call without a valid grpc-status");

describe("UnaryCall, answers at their limits", () => {
    it("keeps nothing of frames whose memory is reused", () => {
        const call = started();
        const memory = new Uint8Array(200);
        const parts = [
            settings,
            encodeFrame(FrameType.HEADERS, 0, 1, block({ ":status": "200" })),
            encodeFrame(FrameType.CONTINUATION, Flag.END_HEADERS, 1, block({ "content-type": "application/grpc" })),
            data(prefixed(message).subarray(0, 6)),
            data(prefixed(message).subarray(6)),
            trailers({ "grpc-status": "0" }),
        ];
        for (const part of parts) {
            memory.set(part);
            call.receive(memory.subarray(0, part.length));
            memory.fill(0xee);
        }
        expect(call.outcome).toEqual({ kind: "message", message });
    });

    it("takes a message of as many bytes as the limit", () => {
        expect(verdict(answer, started(3, 3))).toEqual({ kind: "message", message });
        expect(verdict(answer, started(3, 2))).toEqual({
            kind: "status",
            status: 8,
            text: "the answer must be one uncompressed message, it is: too large",
        });
    });

    it("takes a header block of 65536 bytes, each frame counted with 16 more", () => {
        const fields = block({ ":status": "200", "content-type": "application/grpc" });
        const fill = 65536 - 8 * 16 - fields.length;
        /** Eight frames whose block has one more header of this many bytes, 7 of them before its value. */
        const filled = (bytes: number): readonly Uint8Array[] => {
            const whole = concat([fields, block({ x: "v".repeat(bytes - 7) })]);
            return Array.from({ length: 8 }, (_, at) => {
                const part = whole.subarray(at * 8192, (at + 1) * 8192);
                return encodeFrame(at === 0 ? FrameType.HEADERS : FrameType.CONTINUATION, at === 7 ? 0x4 : 0, 1, part);
            });
        };
        const size = (parts: readonly Uint8Array[]): number =>
            parts.reduce((sum, part) => sum + part.length + 16 - 9, 0);
        expect(size(filled(fill))).toBe(65536);
        expect(verdict([settings, ...filled(fill), ...answer.slice(2)])).toEqual({ kind: "message", message });
        expect(verdict([settings, ...filled(fill + 1)])).toBe("TOO_LARGE a header block is larger than 65536 bytes");
    });

    it("takes DATA that is all padding, and flags that a frame type does not define", () => {
        const parts = [settings, ok, data(hex("02 0000"), Flag.PADDED), data(prefixed(message), 0x20 | 0x4 | 0x80)];
        expect(verdict([...parts, trailers({ "grpc-status": "0" })])).toEqual({ kind: "message", message });
    });
});

describe("UnaryCall, the status", () => {
    it.each(["1234567890", "5x", "x5", "5.5", "-5", "", " 5"])("%j is none", (status) => {
        expect(statusOf({ "grpc-status": status })).toEqual(noStatus);
    });

    it("is read with and without a text, and is passed on when nobody defined it", () => {
        expect(statusOf({ "grpc-status": "5" })).toEqual({ kind: "status", status: 5, text: "" });
        expect(statusOf({ "grpc-message": "a", "grpc-status": "999" })).toEqual({
            kind: "status",
            status: 999,
            text: "a",
        });
    });

    it("is that of the trailers, not of the headers before a message", () => {
        const early = headers({ ":status": "200", "content-type": "application/grpc", "grpc-status": "5" });
        expect(verdict([settings, early, ...answer.slice(2)])).toEqual({ kind: "message", message });
    });

    it("is missing in an answer of headers alone", () => {
        expect(verdict([settings, trailers({ ":status": "200", "content-type": "application/grpc" })])).toEqual(
            noStatus,
        );
    });

    it.each([
        ["400", 13],
        ["401", 16],
        ["403", 7],
        ["404", 12],
        ["429", 14],
        ["502", 14],
        ["503", 14],
        ["504", 14],
        ["500", 2],
        ["204", 2],
        ["599", 2],
    ])("HTTP status %s is status %i (gRPC: HTTP to gRPC status code mapping)", (http, status) => {
        expect(verdict([settings, headers({ ":status": http })])).toEqual({
            kind: "status",
            status,
            text: `the server answered with HTTP status ${http}`,
        });
    });

    it.each(["99", "600", "0", "abc"])("HTTP status %s is none", (http) => {
        expect(verdict([settings, headers({ ":status": http })])).toBe("PROTOCOL_ERROR an answer without :status");
    });

    it("reports nothing when the content is not of gRPC, or not declared as such", () => {
        const text = "the server's answer is not of content-type application/grpc";
        expect(verdict([settings, headers({ ":status": "200" })])).toEqual(unknown(text));
        expect(verdict([settings, headers({ ":status": "200", "content-type": "text/application/grpc" })])).toEqual(
            unknown(text),
        );
    });

    it.each([
        [0, 13],
        [1, 13],
        [7, 14],
        [8, 1],
        [11, 8],
        [12, 7],
        [13, 13],
    ])("a reset with error code %i is status %i (gRPC over HTTP/2, Errors)", (code, status) => {
        const reset = encodeFrame(FrameType.RST_STREAM, 0, 1, Uint8Array.of(0, 0, 0, code));
        const text = `the server reset the call with HTTP/2 error code ${code}`;
        expect(verdict([settings, reset])).toEqual({ kind: "status", status, text });
    });

    it("is UNAVAILABLE after GOAWAY, with its error code, and after the end of the connection", () => {
        const away = encodeFrame(FrameType.GOAWAY, 0, 0, hex("80000000 0000000b 6162"));
        expect(verdict([settings, away])).toEqual({
            kind: "status",
            status: 14,
            text: "the server is going away (HTTP/2 error code 11)",
        });
        const call = started();
        call.closed();
        const text = "the connection was closed before the answer came";
        expect(call.outcome).toEqual({ kind: "status", status: 14, text });
    });
});

describe("UnaryCall, streams that were never opened (RFC 9113 section 5.1.1)", () => {
    it.each<[string, Uint8Array]>([
        ["DATA", encodeFrame(FrameType.DATA, 0, 3, none)],
        ["HEADERS", encodeFrame(FrameType.HEADERS, Flag.END_HEADERS, 3, none)],
        ["RST_STREAM", encodeFrame(FrameType.RST_STREAM, 0, 3, hex("00000008"))],
        ["WINDOW_UPDATE", windowUpdate(3, 1)],
    ])("%s is refused", (_name, frame) => {
        const rule = `a frame of type ${frame[3]} on stream 3, which was never opened`;
        expect(verdict([settings, ok, frame])).toBe(`PROTOCOL_ERROR ${rule}`);
    });

    it("CONTINUATION of another stream is refused", () => {
        const parts = [
            headers({ ":status": "200" }, 0),
            encodeFrame(FrameType.CONTINUATION, Flag.END_HEADERS, 3, none),
        ];
        expect(verdict([settings, ...parts])).toContain("PROTOCOL_ERROR a frame of type 9 on stream 3");
    });

    it.each<[string, Uint8Array]>([
        ["PING", encodeFrame(FrameType.PING, 0, 1, new Uint8Array(8))],
        ["GOAWAY", encodeFrame(FrameType.GOAWAY, 0, 1, new Uint8Array(8))],
    ])("%s is of the connection", (_name, frame) => {
        expect(verdict([settings, frame])).toBe(`PROTOCOL_ERROR a frame of type ${frame[3]} on stream 1, not 0`);
    });
});
