import { describe, expect, it } from "@jest/globals";
import { FrameType } from "../../src/http2/frame.ts";
import { HpackDecoder } from "../../src/http2/hpack.ts";
import { UnaryCall } from "../../src/http2/unary-call.ts";
import { hex } from "../support/hex.ts";
import { answer, data, frames, message, none, ok, setting, settings, started, verdict } from "../support/http2-peer.ts";

const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const start = (): Uint8Array => new UnaryCall({ path: "/a.B/C", message }).start();

describe("UnaryCall, the request", () => {
    it("begins with the connection preface and SETTINGS (RFC 9113 section 3.4), which switch push off", () => {
        const bytes = start();
        expect(bytes.subarray(0, 24)).toEqual(new Uint8Array(preface));
        expect(bytes.subarray(24, 39)).toEqual(hex("000006 04 00 00000000 0002 00000000"));
    });

    it("has the headers that gRPC over HTTP/2 requires, and its message in one frame that ends the stream", () => {
        const [, headers, body, ...rest] = frames(start().subarray(24));
        expect(headers).toMatchObject({ type: FrameType.HEADERS, flags: 0x4, streamId: 1 });
        expect(new HpackDecoder().decode(headers?.payload ?? none)).toEqual([
            [":method", "POST"],
            [":scheme", "http"],
            [":path", "/a.B/C"],
            [":authority", "localhost"],
            ["te", "trailers"],
            ["content-type", "application/grpc"],
            ["user-agent", "antrea-cni"],
        ]);
        expect(body).toEqual({ type: FrameType.DATA, flags: 0x1, streamId: 1, payload: hex("00 00000003 010203") });
        expect(rest).toEqual([]);
    });

    it("is established with the settings of the server", () => {
        const call = started();
        expect(call.established).toBe(false);
        call.receive(settings);
        expect(call.established).toBe(true);
    });

    it("ignores settings that it does not need, also ones that nobody defined", () => {
        // Header table size, push, concurrent streams, header list size, and two unknown ones.
        const others = [1, 2, 3, 6, 0x99, 0xffff].map((id) => setting(id, 1));
        expect(verdict([...others, ...answer.slice(1)])).toEqual({ kind: "message", message });
    });

    it("reads every setting of one frame", () => {
        const call = new UnaryCall({ path: "/a/b", message: new Uint8Array(100_000) });
        call.start();
        // A window of 65536, frames of 16385, a window of 65537: two more bytes may be sent on the stream.
        const both = hex("000012 04 00 00000000 0004 00010000 0005 00004001 0004 00010001");
        expect(frames(call.receive(both)).map(({ type }) => type)).toEqual([FrameType.SETTINGS]);
        const [sent] = frames(call.receive(hex("000004 08 00 00000000 00000064")));
        expect(sent).toMatchObject({ type: FrameType.DATA, payload: new Uint8Array(2) });
    });

    it("is over with its outcome, whatever comes then", () => {
        const call = started();
        for (const part of answer) call.receive(part);
        call.closed();
        expect(call.receive(hex("000008 06 00 00000000 0102030405060708"))).toEqual(none);
        expect(call.outcome).toEqual({ kind: "message", message });
    });

    it("takes an answer of up to 16 MiB, if no other limit is given", () => {
        const call = (): UnaryCall => new UnaryCall({ path: "/a/b", message });
        expect(verdict([settings, ok, data(hex("00 01000000"))], call())).toBe("waits");
        expect(verdict([settings, ok, data(hex("00 01000001"))], call())).toMatchObject({ kind: "status", status: 8 });
    });
});
