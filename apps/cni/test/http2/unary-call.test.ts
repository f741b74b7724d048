import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { concat, encodeFrame, Flag, FrameType } from "../../src/http2/frame.ts";
import { prefixed } from "../../src/http2/message-body.ts";
import { UnaryCall } from "../../src/http2/unary-call.ts";
import { hex } from "../support/hex.ts";
import {
    answer,
    block,
    data,
    dataBytes,
    frames,
    headers,
    message,
    none,
    ok,
    setting,
    settings,
    started,
    trailers,
    verdict,
    windowUpdate,
} from "../support/http2-peer.ts";

describe("UnaryCall, what it accepts", () => {
    it("takes an answer split at every byte, and byte by byte", () => {
        const whole = concat(answer);
        const expected = { kind: "message", message };
        for (let at = 0; at <= whole.length; at++) {
            expect(verdict([whole.subarray(0, at), whole.subarray(at)])).toEqual(expected);
        }
        expect(verdict(Array.from(whole, (byte) => Uint8Array.of(byte)))).toEqual(expected);
    });

    it("keeps nothing of a chunk whose memory is reused", () => {
        const call = started();
        const memory = new Uint8Array(1);
        for (const byte of concat(answer)) {
            memory[0] = byte;
            call.receive(memory);
            memory[0] = 0xee;
        }
        expect(call.outcome).toEqual({ kind: "message", message });
    });

    it.each<[string, readonly Uint8Array[]]>([
        [
            "padding",
            [settings, ok, data(concat([hex("02"), prefixed(message), hex("0000")]), Flag.PADDED), answer[3] ?? none],
        ],
        [
            "padded headers with priority",
            [
                settings,
                encodeFrame(
                    FrameType.HEADERS,
                    Flag.END_HEADERS | Flag.PADDED | Flag.PRIORITY,
                    1,
                    concat([
                        hex("01 00000000 10"),
                        block({ ":status": "200", "content-type": "application/grpc+proto" }),
                        hex("00"),
                    ]),
                ),
                ...answer.slice(2),
            ],
        ],
        [
            "a header block in three frames",
            [
                settings,
                encodeFrame(FrameType.HEADERS, 0, 1, block({ ":status": "200" })),
                encodeFrame(FrameType.CONTINUATION, 0, 1, none),
                encodeFrame(FrameType.CONTINUATION, Flag.END_HEADERS, 1, block({ "content-type": "application/grpc" })),
                ...answer.slice(2),
            ],
        ],
        ["an interim answer before the real one", [settings, headers({ ":status": "103" }), ...answer.slice(1)]],
        [
            "a message in several frames",
            [
                settings,
                ok,
                data(prefixed(message).subarray(0, 2)),
                data(none),
                data(prefixed(message).subarray(2)),
                answer[3] ?? none,
            ],
        ],
        [
            "unknown frames and PRIORITY",
            [
                settings,
                encodeFrame(0x42, 0xff, 7, message),
                encodeFrame(2, 0, 1, hex("0000000010")),
                ...answer.slice(1),
            ],
        ],
        [
            "GOAWAY that still answers this call",
            [settings, encodeFrame(FrameType.GOAWAY, 0, 0, hex("00000001 00000000")), ...answer.slice(1)],
        ],
        [
            "what comes behind the end",
            [...answer, encodeFrame(FrameType.RST_STREAM, 0, 1, hex("00000000")), hex("ffffffffff")],
        ],
    ])("takes %s", (_name, parts) => {
        expect(verdict(parts)).toEqual({ kind: "message", message });
    });

    it("acknowledges settings and pings", () => {
        const call = started();
        expect(
            frames(call.receive(concat([settings, encodeFrame(FrameType.PING, 0, 0, hex("0102030405060708"))]))),
        ).toEqual([
            { type: FrameType.SETTINGS, flags: Flag.ACK, streamId: 0, payload: none },
            { type: FrameType.PING, flags: Flag.ACK, streamId: 0, payload: hex("0102030405060708") },
        ]);
        expect(call.receive(encodeFrame(FrameType.SETTINGS, Flag.ACK, 0, none))).toEqual(none);
        expect(call.receive(encodeFrame(FrameType.PING, Flag.ACK, 0, hex("0102030405060708")))).toEqual(none);
    });
});

describe("UnaryCall, flow control", () => {
    it("sends no more than the windows allow and ends the stream with the last byte", () => {
        const call = new UnaryCall({ path: "/a/b", message: new Uint8Array(200_000) });
        const preface = 24;
        expect(dataBytes(call.start().subarray(preface))).toBe(65535);
        expect(dataBytes(call.receive(concat([settings, windowUpdate(1, 100_000)])))).toBe(0);
        expect(dataBytes(call.receive(windowUpdate(0, 10)))).toBe(10);
        expect(dataBytes(call.receive(concat([windowUpdate(0, 1_000_000)])))).toBe(100_000 - 10);
        // A larger first window widens the stream that is open.
        const last = frames(call.receive(setting(4, 65535 + 100_000)));
        expect(last.at(-1)).toMatchObject({ type: FrameType.DATA, flags: Flag.END_STREAM });
        expect(last.reduce((sum, frame) => sum + frame.payload.length, 0)).toBe(200_005 - 65535 - 100_000);
        expect(Math.max(...last.map((frame) => frame.payload.length))).toBe(16384);
    });

    it("waits when the first window shrinks below what is under way", () => {
        const call = new UnaryCall({ path: "/a/b", message: new Uint8Array(100_000) });
        call.start();
        expect(dataBytes(call.receive(concat([setting(4, 0), windowUpdate(0, 100_000), windowUpdate(1, 65535)])))).toBe(
            0,
        );
        expect(dataBytes(call.receive(windowUpdate(1, 1)))).toBe(1);
    });

    it("uses larger frames when the peer allows them", () => {
        const call = new UnaryCall({ path: "/a/b", message: new Uint8Array(200_000) });
        call.start();
        const sent = frames(call.receive(setting(5, 16385)));
        expect(sent.map((frame) => frame.type)).toEqual([FrameType.SETTINGS]);
        const widened = call.receive(concat([windowUpdate(1, 100_000), windowUpdate(0, 100_000)]));
        expect(widened.subarray(0, 3)).toEqual(hex("004001"));
    });

    it("gives consumed bytes back, padding included", () => {
        const call = started(3, 100_000);
        const body = prefixed(new Uint8Array(40_000));
        call.receive(concat([settings, ok]));
        const replies = [0, 16_000, 32_000].map((at) => frames(call.receive(data(body.subarray(at, at + 16_000)))));
        expect(replies[0]).toEqual([]);
        expect(replies[1]).toEqual([]);
        expect(replies[2]?.map(({ type, streamId, payload }) => [type, streamId, ...payload])).toEqual([
            [FrameType.WINDOW_UPDATE, 0, 0, 0, 0x9c, 0x45],
            [FrameType.WINDOW_UPDATE, 1, 0, 0, 0x9c, 0x45],
        ]);
    });
});

describe("UnaryCall, calls that fail", () => {
    it.each<[string, readonly Uint8Array[], number, string]>([
        [
            "trailers only",
            [
                settings,
                trailers({
                    ":status": "200",
                    "content-type": "application/grpc",
                    "grpc-status": "12",
                    "grpc-message": "no %C3%BC%",
                }),
            ],
            12,
            "no ü%",
        ],
        ["HTTP 404", [settings, trailers({ ":status": "404" })], 12, "HTTP status 404"],
        ["HTTP 503 with a body", [settings, headers({ ":status": "503" })], 14, "HTTP status 503"],
        ["a web server", [settings, headers({ ":status": "200", "content-type": "text/html" })], 2, "content-type"],
        ["no trailers", [settings, ok, data(prefixed(message), Flag.END_STREAM)], 2, "without a valid grpc-status"],
        [
            "a status that is no number",
            [settings, ok, trailers({ "grpc-status": "zero" })],
            2,
            "without a valid grpc-status",
        ],
        ["success without message", [settings, ok, trailers({ "grpc-status": "0" })], 13, "it is: none"],
        [
            "a message cut short",
            [settings, ok, data(hex("0000000005 01")), trailers({ "grpc-status": "0" })],
            13,
            "incomplete",
        ],
        ["a prefix cut short", [settings, ok, data(hex("000000")), trailers({ "grpc-status": "0" })], 13, "incomplete"],
        ["two messages", [settings, ok, data(concat([prefixed(message), prefixed(message)]))], 13, "surplus"],
        ["a compressed message", [settings, ok, data(hex("0100000001 00"))], 13, "it is: compressed"],
        ["a message above the limit, by its prefix", [settings, ok, data(hex("00000003e9"))], 8, "too large"],
        [
            "RST_STREAM REFUSED_STREAM",
            [settings, encodeFrame(FrameType.RST_STREAM, 0, 1, hex("00000007"))],
            14,
            "code 7",
        ],
        ["RST_STREAM CANCEL", [settings, encodeFrame(FrameType.RST_STREAM, 0, 1, hex("00000008"))], 1, "code 8"],
        [
            "RST_STREAM INTERNAL_ERROR",
            [settings, encodeFrame(FrameType.RST_STREAM, 0, 1, hex("00000002"))],
            13,
            "code 2",
        ],
        [
            "GOAWAY before this call",
            [settings, encodeFrame(FrameType.GOAWAY, 0, 0, hex("00000000 00000000"))],
            14,
            "going away",
        ],
    ])("%s", (_name, parts, status, text) => {
        expect(verdict(parts)).toEqual({ kind: "status", status, text: expect.stringContaining(text) });
    });

    it("a connection that closes, at any point before the end", () => {
        const whole = concat(answer);
        for (let at = 0; at < whole.length; at++) {
            const call = started();
            call.receive(whole.subarray(0, at));
            call.closed();
            expect(call.outcome).toMatchObject({ kind: "status", status: 14 });
        }
    });
});

describe("UnaryCall, peers that break the protocol", () => {
    it.each<[string, readonly Uint8Array[], string]>([
        ["HTTP/1", [Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n")], "FRAME_SIZE_ERROR"],
        ["a first frame that is not SETTINGS", [ok], "PROTOCOL_ERROR the first frame has type 1"],
        [
            "a first SETTINGS that only acknowledges",
            [encodeFrame(FrameType.SETTINGS, Flag.ACK, 0, none)],
            "PROTOCOL_ERROR SETTINGS are acknowledged before",
        ],
        ["SETTINGS of a wrong length", [encodeFrame(FrameType.SETTINGS, 0, 0, hex("0001"))], "FRAME_SIZE_ERROR"],
        [
            "an acknowledgement with payload",
            [settings, encodeFrame(FrameType.SETTINGS, Flag.ACK, 0, new Uint8Array(6))],
            "FRAME_SIZE_ERROR",
        ],
        [
            "SETTINGS on a stream",
            [encodeFrame(FrameType.SETTINGS, 0, 1, none)],
            "PROTOCOL_ERROR a frame of type 4 on stream 1, not 0",
        ],
        ["a window above 2^31-1", [setting(4, 0x8000_0000)], "FLOW_CONTROL_ERROR"],
        ["a frame size below 16384", [setting(5, 16383)], "PROTOCOL_ERROR SETTINGS_MAX_FRAME_SIZE 16383"],
        ["a frame above 16384", [settings, hex("004001 00 00 00000001")], "FRAME_SIZE_ERROR a frame of 16385 bytes"],
        [
            "another stream",
            [settings, encodeFrame(FrameType.HEADERS, 4, 3, none)],
            "PROTOCOL_ERROR a frame of type 1 on stream 3, which was never opened",
        ],
        ["DATA before HEADERS", [settings, data(none)], "PROTOCOL_ERROR DATA before HEADERS"],
        [
            "DATA inside a header block",
            [settings, headers({ ":status": "200" }, 0), data(none)],
            "PROTOCOL_ERROR a frame of type 0 inside a header block",
        ],
        [
            "CONTINUATION without HEADERS",
            [settings, encodeFrame(FrameType.CONTINUATION, 4, 1, none)],
            "without a header block",
        ],
        [
            "headers without end",
            [
                settings,
                headers({ a: "b" }, 0),
                ...Array.from({ length: 8 }, () => encodeFrame(FrameType.CONTINUATION, 0, 1, new Uint8Array(16000))),
            ],
            "TOO_LARGE",
        ],
        [
            "empty continuations without end",
            [
                settings,
                headers({ a: "b" }, 0),
                ...Array.from({ length: 5000 }, () => encodeFrame(FrameType.CONTINUATION, 0, 1, none)),
            ],
            "TOO_LARGE",
        ],
        ["no :status", [settings, headers({ a: "b" })], "without :status"],
        ["an interim answer that ends", [settings, trailers({ ":status": "100" })], "interim answer"],
        ["trailers that do not end", [settings, ok, headers({ "grpc-status": "0" })], "trailers that do not end"],
        ["broken HPACK", [settings, encodeFrame(FrameType.HEADERS, 4, 1, hex("be"))], "COMPRESSION_ERROR"],
        [
            "padding longer than the frame",
            [settings, ok, data(hex("05 00"), Flag.PADDED)],
            "PROTOCOL_ERROR the padding",
        ],
        ["padding in an empty frame", [settings, ok, data(none, Flag.PADDED)], "PROTOCOL_ERROR the padding"],
        ["PUSH_PROMISE", [settings, encodeFrame(FrameType.PUSH_PROMISE, 4, 1, hex("00000002"))], "push is disabled"],
        ["PING of a wrong length", [settings, encodeFrame(FrameType.PING, 0, 0, hex("01"))], "FRAME_SIZE_ERROR"],
        ["PING on a stream", [settings, encodeFrame(FrameType.PING, 0, 1, new Uint8Array(8))], "PROTOCOL_ERROR"],
        ["GOAWAY of a wrong length", [settings, encodeFrame(FrameType.GOAWAY, 0, 0, hex("00"))], "FRAME_SIZE_ERROR"],
        [
            "RST_STREAM of a wrong length",
            [settings, encodeFrame(FrameType.RST_STREAM, 0, 1, hex("00"))],
            "FRAME_SIZE_ERROR",
        ],
        ["WINDOW_UPDATE of 0", [settings, windowUpdate(0, 0)], "PROTOCOL_ERROR WINDOW_UPDATE with an increment of 0"],
        ["a window that overflows", [settings, windowUpdate(0, 0x7fff_ffff)], "FLOW_CONTROL_ERROR"],
    ])("refuses %s", (_name, parts, expected) => {
        expect(verdict(parts)).toContain(expected);
    });

    it("never fails but with its typed error, whatever bytes are changed", () => {
        const whole = concat(answer);
        fc.assert(
            fc.property(
                fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 }),
                (changes) => {
                    const bytes = whole.slice();
                    for (const [at, byte] of changes) bytes[at] = byte;
                    verdict([bytes]);
                },
            ),
            { numRuns: 500 },
        );
        fc.assert(
            fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
                verdict([settings, bytes]);
            }),
        );
    });
});
